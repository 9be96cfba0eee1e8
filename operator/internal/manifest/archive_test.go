//go:build kubernetes

package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

func TestCluster_archivesItsDatabase(t *testing.T) {
	c := archived(7)
	c.OLTPPool = &v1alpha1.HTAPNodePool{Spec: v1alpha1.HTAPNodePoolSpec{NodeSelector: map[string]string{"pool": "oltp"}}}
	config, err := c.ArchivePrograms()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"archive-wal.sh", "backup.sh", "recover.sh"} { // they are files of their own
		config.Data[name] = "…"
	}
	at := time.Date(2026, 11, 20, 8, 0, 0, 250_000_000, time.FixedZone("", 3600))
	r := recovered(&at)
	golden(t, "archive.yaml", c.ArchiveClaim(), config, c.OLTPPolicy(), c.PostgreSQL(), c.Backups(), r.PostgreSQL())
}

func TestCluster_letsTheRoleOfOldVolumesTakeBaseBackups(t *testing.T) {
	c := archived(7)
	c.SoleRole = true
	config, err := c.ArchivePrograms()
	if err != nil {
		t.Fatal(err)
	}
	const want = "hostssl replication freshet all scram-sha-256\ninclude /var/lib/postgresql/data/pgdata/pg_hba.conf\n"
	if diff := cmp.Diff(want, config.Data["pg_hba.conf"]); diff != "" {
		t.Errorf("who may take base backups (-want +got):\n%s", diff)
	}
}

// archiveCommand is what the server runs for a segment of its log, as a container.
func archiveCommand(t *testing.T, path, name string) corev1.Container {
	t.Helper()
	for _, arg := range archived(1).PostgreSQL().Spec.Template.Spec.Containers[0].Args {
		if command, is := strings.CutPrefix(arg, "archive_command="); is {
			return corev1.Container{Name: "archive", Command: []string{"sh", "-c", strings.NewReplacer("%p", path, "%f", name).Replace(command)}}
		}
	}
	t.Fatal("the server has no archive_command")
	return corev1.Container{}
}

func TestArchiveCommand_neverReplacesAFileByAnother(t *testing.T) {
	const segment = "000000010000000000000001"
	for name, step := range map[string]struct {
		there map[string]string // in the archive's folder of the log
		want  map[string]string
		fails bool
	}{
		"first segment": {nil, map[string]string{segment: "log"}, false},
		"next segment":  {map[string]string{"000000010000000000000000": "older"}, map[string]string{"000000010000000000000000": "older", segment: "log"}, false},
		"the same":      {map[string]string{segment: "log"}, map[string]string{segment: "log"}, false},
		"another":       {map[string]string{segment: "LOG"}, map[string]string{segment: "LOG"}, true},
		"half of it":    {map[string]string{segment: "lo"}, map[string]string{segment: "lo"}, true},
		"after one that was interrupted": {
			map[string]string{"." + segment + ".new": "something longer than the log"}, map[string]string{segment: "log"}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			archive := n.mount(archivePath, nil)
			n.mount(programsPath, programs(t, archived(1)))
			data := n.mount(dataPath, map[string]string{segment: "log"})
			wal := filepath.Join(archive, "wal")
			if len(step.there) > 0 {
				if err := os.Mkdir(wal, 0o700); err != nil {
					t.Fatal(err)
				}
				n.give(wal)
			}
			for file, text := range step.there {
				n.write(filepath.Join(wal, file), text)
			}
			said, err := n.run(archiveCommand(t, filepath.Join(data, segment), segment))
			if (err != nil) != step.fails {
				t.Errorf("error %v; it said:\n%s", err, said)
			}
			if step.fails && !strings.Contains(said, segment+" is in the archive with another content: it is another database's archive; use an empty one") {
				t.Errorf("it said:\n%s", said)
			}
			got := map[string]string{}
			for _, file := range files(t, wal) {
				text, err := os.ReadFile(filepath.Join(wal, file))
				if err != nil {
					t.Fatal(err)
				}
				got[file] = string(text)
			}
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("the archive (-want +got):\n%s", diff)
			}
		})
	}
}
