"""triage in Slack: a case is a thread.

`app` receives, `inbox` keeps, `desk` answers in order, `blocks` and `text` word it, `files` fetches attachments.
"""
