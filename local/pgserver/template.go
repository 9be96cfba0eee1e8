package pgserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// copyTemplate makes the folder data as a copy of the one in Config.Template that initdb has filled in the same way, and has
// initdb fill that first if it is not there. Whoever comes first among several processes makes it.
func (s *Server) copyTemplate(ctx context.Context, data string) error {
	key := sha256.Sum256([]byte(strings.Join(append(initArgs(), s.cfg.Home, fmt.Sprint(s.owner)), "\x00")))
	template := filepath.Join(s.cfg.Template, "postgres-data-"+hex.EncodeToString(key[:8]))
	if _, err := os.Stat(template); errors.Is(err, fs.ErrNotExist) {
		if err := s.makeTemplate(ctx, template); err != nil {
			return fmt.Errorf("make the template %s: %w", template, err)
		}
	} else if err != nil {
		return err
	}
	if err := os.CopyFS(data, os.DirFS(template)); err != nil {
		return fmt.Errorf("copy the template %s: %w", template, err)
	}
	return filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		return errors.Join(os.Chmod(path, mode), s.give(path))
	})
}

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
	data := filepath.Join(staging, "data")
	if err := s.initdb(ctx, data, filepath.Join(staging, "password")); err != nil {
		return err
	}
	if err := os.Rename(data, template); err != nil && !errors.Is(err, fs.ErrExist) { // another process was first
		return err
	}
	return nil
}
