package pgserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// copyTemplate makes the folder data from the archive in Config.Template of one that initdb has filled in the same way, and has initdb
// fill that first if it is not there. Whoever comes first among several processes makes it.
func (s *Server) copyTemplate(ctx context.Context, data string) error {
	key := sha256.Sum256([]byte(strings.Join(append(s.initArgs(), s.cfg.Home, fmt.Sprint(s.owner)), "\x00")))
	template := filepath.Join(s.cfg.Template, "postgres-data-"+hex.EncodeToString(key[:8])+".tar")
	if _, err := os.Stat(template); errors.Is(err, fs.ErrNotExist) {
		if err := s.makeTemplate(ctx, template); err != nil {
			return fmt.Errorf("make the template %s: %w", template, err)
		}
	} else if err != nil {
		return err
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	return tar(ctx, "--extract", "--same-permissions", "--numeric-owner", "--file", template, "--directory", data)
}

// makeTemplate keeps an archive: to open a thousand small files costs more than to write them.
func (s *Server) makeTemplate(ctx context.Context, template string) error {
	if err := os.MkdirAll(s.cfg.Template, 0o755); err != nil {
		return err
	}
	staging, err := os.MkdirTemp(s.cfg.Template, "postgres-data-*.staging")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	if err := s.give(staging); err != nil {
		return err
	}
	data, archive := filepath.Join(staging, "data"), filepath.Join(staging, "data.tar")
	if err := s.initdb(ctx, data, filepath.Join(staging, "password")); err != nil {
		return err
	}
	if err := tar(ctx, "--create", "--numeric-owner", "--file", archive, "--directory", data, "."); err != nil {
		return err
	}
	// The superuser's password is in it. Another process's archive may be there by now; either will do.
	return errors.Join(os.Chmod(archive, 0o600), os.Rename(archive, template))
}

// tar runs the system's, which does in a third of the time what this process would under the race detector.
func tar(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "tar", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("tar %s: %w\n%s", args[0], errors.Join(err, ctx.Err()), bytes.TrimSpace(out))
	}
	return nil
}
