"""The only sockets and the only clock that vendor traffic sees."""
