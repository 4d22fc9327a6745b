"""A scripted model server for these tests."""

from scripting import scripted as scripted
