package kubectl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func (p *plugin) connectCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "connect NAME [-- PSQL-ARGUMENT...]",
		Short:   "psql on the endpoint, through a port that is forwarded to a ready unit",
		Example: `  kubectl freshet connect shop -- -c "SHOW freshet.staleness"`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			psql, err := exec.LookPath("psql")
			if err != nil {
				return fmt.Errorf("psql is missing: %w; install PostgreSQL's client (Debian, Ubuntu: apt-get install postgresql-client)", err)
			}
			// An interrupt is psql's: it ends a query, and not the way to the unit.
			ctx := context.WithoutCancel(cmd.Context())
			e, err := p.endpoint(ctx, args[0])
			if err != nil {
				return err
			}
			defer e.close()
			return p.connect(e, psql, args[1:])
		},
	}
}

// connect runs psql to its end.
func (p *plugin) connect(e *endpoint, psql string, args []string) (err error) {
	dir, err := os.MkdirTemp("", "kubectl-freshet-")
	if err != nil {
		return fmt.Errorf("keep the endpoint's authority: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	environment, err := e.environment(dir)
	if err != nil {
		return err
	}
	cmd := exec.Command(psql, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.in, p.out, p.errOut
	cmd.Env = append(withoutPostgres(os.Environ()), environment...)
	return programError("psql", p.run(cmd))
}

// ProgramError says that a program which was run for the user has failed. Code is its exit code.
type ProgramError struct {
	Program string
	Code    int
}

// Error implements error.
func (e *ProgramError) Error() string { return fmt.Sprintf("%s: exit status %d", e.Program, e.Code) }

// programError tells what a program ended with.
func programError(program string, err error) error {
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.Exited() {
		return &ProgramError{Program: program, Code: ended.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

// environment tells libpq the endpoint. The password is there and not in an argument, which everyone on the machine could read.
func (e *endpoint) environment(dir string) ([]string, error) {
	host, port, err := net.SplitHostPort(e.addr)
	if err != nil {
		return nil, err
	}
	authority := "system"
	if len(e.authority) > 0 {
		authority = filepath.Join(dir, "ca.crt")
		if err := os.WriteFile(authority, e.authority, 0o600); err != nil {
			return nil, fmt.Errorf("keep the endpoint's authority: %w", err)
		}
	}
	return []string{
		"PGHOST=" + e.host, "PGHOSTADDR=" + host, "PGPORT=" + port, // the certificate is for the former
		"PGUSER=" + e.user, "PGPASSWORD=" + e.password, "PGDATABASE=" + e.database,
		"PGSSLMODE=verify-full", "PGSSLROOTCERT=" + authority,
	}, nil
}

// withoutPostgres leaves out what would send psql elsewhere.
func withoutPostgres(environment []string) []string {
	var out []string
	for _, entry := range environment {
		if !strings.HasPrefix(entry, "PG") || strings.HasPrefix(entry, "PGAPPNAME=") || strings.HasPrefix(entry, "PGTZ=") {
			out = append(out, entry)
		}
	}
	return out
}
