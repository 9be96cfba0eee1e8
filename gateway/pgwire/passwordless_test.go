package pgwire_test

import (
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// from is a listener whose clients come from an address of the test's choice.
type from struct {
	net.Listener
	addr net.Addr
}

func (l from) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fromConn{conn, l.addr}, nil
}

type fromConn struct {
	net.Conn
	addr net.Addr
}

func (c fromConn) RemoteAddr() net.Addr { return c.addr }

// admittingBed has a PostgreSQL that lets the roles trusted and peer in without a password.
func admittingBed(t *testing.T) *bed {
	t.Helper()
	b := newOwnBed(t)
	c := connect(t, b.direct)
	run(t, c, "CREATE ROLE trusted LOGIN; CREATE ROLE peer LOGIN; SET password_encryption = 'md5'; CREATE ROLE by_md5 LOGIN PASSWORD 'secret'; CREATE ROLE by_password LOGIN PASSWORD 'secret'")
	for setting, content := range map[string]string{
		"hba_file": "local all trusted trust\nlocal all peer peer map=anyone\nlocal all by_md5 md5\nlocal all by_password password\nlocal all all scram-sha-256\n" +
			"host all trusted all trust\nhost all by_md5 all md5\nhost all by_password all password\nhost all all all scram-sha-256\n",
		"ident_file": "anyone /^.*$ peer\n",
	} {
		if err := os.WriteFile(run(t, c, "SHOW "+setting)[0][0], []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, c, "SELECT pg_reload_conf()")
	b.waitFor(t, "PostgreSQL to trust", func() bool {
		c, err := pgconn.Connect(t.Context(), as(t, b.direct, "trusted", ""))
		return err == nil && c.Close(t.Context()) == nil
	})
	return b
}

// pg_hba.conf judges the gateway, for that is whom PostgreSQL sees. Whom it lets in without a password need not be let
// in.
func TestServer_letsInWithoutPasswordWhomPostgreSQLHasJudged(t *testing.T) {
	b := admittingBed(t)
	local, err := url.Parse(b.pg.LocalURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(local.Query().Get("host"), ".s.PGSQL."+local.Query().Get("port"))
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 40_000} }
	mapped := &net.TCPAddr{IP: net.IP("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01"), Port: 40_000}
	const in, refused, wrong = "", "28000", "28P01"
	for name, tc := range map[string]struct {
		bySocket, allowed bool
		client            net.Addr
		want              map[string]string // by user and password
	}{
		"all on loopback":  {client: tcp("127.0.0.1"), want: map[string]string{"trusted:": in, "by_md5:secret": in, "by_md5:wrong": wrong}},
		"loopback, IPv6":   {client: tcp("::1"), want: map[string]string{"trusted:": in}},
		"loopback, mapped": {client: mapped, want: map[string]string{"trusted:": in}},
		"client elsewhere": {client: tcp("192.0.2.7"), want: map[string]string{"trusted:": refused, "trusted:secret": refused,
			"by_md5:secret": in, "by_md5:wrong": wrong, "by_password:secret": in, "by_password:wrong": wrong, "postgres:" + b.pg.Password(): in, "postgres:wrong": wrong}},
		"client elsewhere, IPv6":   {client: tcp("2001:db8::7"), want: map[string]string{"trusted:": refused}},
		"client elsewhere, mapped": {client: tcp("::ffff:192.0.2.7"), want: map[string]string{"trusted:": refused}},
		"client by a socket":       {client: &net.UnixAddr{Net: "unix"}, want: map[string]string{"trusted:": refused, "postgres:" + b.pg.Password(): in}},
		"PostgreSQL by a socket": {bySocket: true, client: tcp("127.0.0.1"), want: map[string]string{"trusted:": refused, "peer:": refused,
			"by_md5:secret": in, "by_md5:wrong": wrong, "by_password:secret": in, "by_password:wrong": wrong, "postgres:" + b.pg.Password(): in, "postgres:wrong": wrong}},
		"both by sockets":                 {bySocket: true, client: &net.UnixAddr{Net: "unix"}, want: map[string]string{"trusted:": refused, "peer:": refused}},
		"allowed":                         {allowed: true, client: tcp("192.0.2.7"), want: map[string]string{"trusted:": in, "by_md5:wrong": wrong}},
		"allowed, PostgreSQL by a socket": {allowed: true, bySocket: true, client: tcp("192.0.2.7"), want: map[string]string{"trusted:": in, "peer:": in, "by_md5:wrong": wrong}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := pgwire.Config{BackendNetwork: "tcp", BackendAddress: b.pg.Addr(), AllowPasswordless: tc.allowed}
			if tc.bySocket {
				cfg.BackendNetwork, cfg.BackendAddress = "unix", socket
			}
			l := listen(t)
			serve(t, from{l, tc.client}, cfg)
			through := strings.Replace(b.direct, b.pg.Addr(), l.Addr().String(), 1)
			got := map[string]string{}
			for credentials := range tc.want {
				user, password, _ := strings.Cut(credentials, ":")
				c, err := pgconn.Connect(t.Context(), as(t, through, user, password))
				var e *pgconn.PgError
				switch {
				case err == nil:
					got[credentials] = in
					if name := run(t, c, "SELECT current_user")[0][0]; name != user {
						t.Errorf("%s is logged in as %s", user, name)
					}
					_ = c.Close(t.Context())
				case errors.As(err, &e):
					got[credentials] = e.Code
				default:
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("logins (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServer_saysWhyItLetsNobodyInWithoutPassword(t *testing.T) {
	b := admittingBed(t)
	l := listen(t)
	serve(t, from{l, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}}, pgwire.Config{BackendNetwork: "tcp", BackendAddress: b.pg.Addr()})
	for _, replication := range []string{"", "&replication=database"} {
		_, err := pgconn.Connect(t.Context(), as(t, strings.Replace(b.direct, b.pg.Addr(), l.Addr().String(), 1), "trusted", "")+replication)
		e, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || e.Code != "28000" || e.Severity != "FATAL" {
			t.Fatalf("refused by %v", err)
		}
		for _, remedy := range []string{"pg_hba.conf", "scram-sha-256", "allow_passwordless", "FRESHET_ALLOW_PASSWORDLESS"} {
			if !strings.Contains(e.Hint, remedy) {
				t.Errorf("the hint %q does not name %s", e.Hint, remedy)
			}
		}
	}
}
