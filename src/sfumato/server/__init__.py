"""The query service: analysts ask over HTTP, nobody sees the data.

A thin door to the plan's session: it needs the extra `server`, and nothing else imports FastAPI or uvicorn.
"""
