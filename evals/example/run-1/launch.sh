#!/bin/bash
set -e
python train.py --config train.yaml 2>&1 | tee train.log
