"""Scenes: what training loops stand among, in the manners of public libraries, with the defects planted in each.

Every module of a folder here has its `SCENES`.
"""
