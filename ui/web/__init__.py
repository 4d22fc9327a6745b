"""The web app: `desk` keeps people apart, `turns` runs their questions, `panels` shows results, `app` is the page.

Only `app` and `server` know Gradio.
"""
