// Package ports keeps ports of the loopback address for servers that do not choose one themselves, or that are to
// come back to the same one after a crash.
//
// A port that was found free and closed again may be anyone's a moment later. A [Reservation] is a socket that is bound
// and never listens: the kernel gives its port to nobody who asks for any port, neither to listen nor to
// connect from, while a server that names the port and sets SO_REUSEADDR, as all do, may listen there (ip(7), socket(7)).
package ports
