// Command pg-isready is pg_isready for the PostgreSQL of the toolchain, which comes without it: it tells by its exit code whether a
// server accepts connections (0), rejects them because it starts, stops or recovers (1), or does not answer (2).
//
// Invariant: it needs no password, and leaves no trace in the server's log but that of a connection.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Exit codes of pg_isready.
const (
	accepting  = 0
	rejecting  = 1
	noResponse = 2
	noAttempt  = 3
)

// options are the command line.
type options struct {
	host, port, user, database string
	timeout                    int
	quiet                      bool
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			os.Exit(noAttempt)
		}
		return
	}
	code, answer := o.ping()
	if !o.quiet {
		fmt.Printf("%s:%s - %s\n", o.host, o.port, answer)
	}
	os.Exit(code)
}

// parse reads the command line. An option has the same two names as pg_isready's.
func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("pg_isready", flag.ContinueOnError)
	text := func(p *string, long, short, fallback, usage string) {
		flags.StringVar(p, long, fallback, usage)
		flags.StringVar(p, short, fallback, "short for --"+long)
	}
	text(&o.host, "host", "h", fallback("PGHOST", "/var/run/postgresql"), "address of the server, or folder of its socket")
	text(&o.port, "port", "p", fallback("PGPORT", "5432"), "its port")
	text(&o.user, "username", "U", fallback("PGUSER", "postgres"), "role of the attempt")
	text(&o.database, "dbname", "d", fallback("PGDATABASE", "postgres"), "database of the attempt")
	flags.IntVar(&o.timeout, "timeout", 3, "seconds to wait; 0 waits for ever")
	flags.IntVar(&o.timeout, "t", 3, "short for --timeout")
	flags.BoolVar(&o.quiet, "quiet", false, "print nothing")
	flags.BoolVar(&o.quiet, "q", false, "short for --quiet")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "pg_isready: too many arguments")
		return o, errors.New("too many arguments")
	}
	return o, nil
}

func fallback(variable, value string) string {
	if v := os.Getenv(variable); v != "" {
		return v
	}
	return value
}

// ping begins a session and reads the server's first word.
func (o options) ping() (code int, answer string) {
	network, address := "tcp", net.JoinHostPort(o.host, o.port)
	if strings.HasPrefix(o.host, "/") {
		network, address = "unix", filepath.Join(o.host, ".s.PGSQL."+o.port)
	}
	dialer := net.Dialer{}
	if o.timeout > 0 {
		dialer.Deadline = time.Now().Add(time.Duration(o.timeout) * time.Second)
	}
	conn, err := dialer.Dial(network, address)
	if err != nil {
		return noResponse, "no response"
	}
	defer conn.Close()
	if err := conn.SetDeadline(dialer.Deadline); err != nil {
		return noResponse, "no response"
	}
	session := pgproto3.NewFrontend(conn, conn)
	session.Send(&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters:      map[string]string{"user": o.user, "database": o.database, "application_name": "pg_isready"},
	})
	if err := session.Flush(); err != nil {
		return noResponse, "no response"
	}
	message, err := session.Receive()
	if err != nil {
		return noResponse, "no response"
	}
	const cannotConnectNow = "57P03"
	if refusal, ok := message.(*pgproto3.ErrorResponse); ok && refusal.Code == cannotConnectNow {
		return rejecting, "rejecting connections"
	}
	session.Send(&pgproto3.Terminate{})
	_ = session.Flush() // a courtesy
	return accepting, "accepting connections"
}
