"""What a stream's configuration may be: judged when it is created and when it is changed."""
