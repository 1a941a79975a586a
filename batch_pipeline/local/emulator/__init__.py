"""An emulator of Amazon Bedrock batch inference that is strict where boto3 is not.

It speaks the wire protocol of `bedrock`, `bedrock-runtime` and `sts:GetCallerIdentity` on one port,
reads and writes a real S3 server, and lets an engine answer. Guide: `docs/emulator.md`.
"""
