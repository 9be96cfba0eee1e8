package pgwire

import "net"

// errPasswordless refuses a client that PostgreSQL let in without having judged it.
var errPasswordless = &Error{Code: codeInvalidAuthorization, Message: "the gateway refuses a client whom PostgreSQL asked for no password",
	Detail: "PostgreSQL trusts the gateway's host or operating system user. It does not see the client's.",
	Hint: "Let pg_hba.conf ask for scram-sha-256 where the gateway connects from, or, in a network without strangers, " +
		"set allow_passwordless (FRESHET_ALLOW_PASSWORDLESS=true) in the gateway's configuration."}

// admit decides whether a client that PostgreSQL lets in may pass. It may if it has proved who it is. PostgreSQL's other ways to let somebody in
// (trust, peer, ident) judge who connects, which is the gateway: that holds for the client as well only where both come from the machine itself.
func (s *session) admit(proved bool) error {
	if proved || s.srv.cfg.AllowPasswordless || onLoopback(s.client.RemoteAddr()) && onLoopback(s.server.RemoteAddr()) {
		return nil
	}
	return errPasswordless
}

// onLoopback reports whether a connection's other end is this machine, by TCP. A socket in the file system is not: who may use it is up to its
// folder, and PostgreSQL learns the user of who does.
func onLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
