"""Scenes: what training loops stand among, in the manners of public libraries, with the defects planted in each.

Every module here has its `SCENES`.
"""
