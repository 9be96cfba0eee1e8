package manifest

import (
	"cmp"
	"embed"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// Where an archive's claims and programs are in pods.
const (
	archiveDir  = "/var/lib/freshet/archive"
	recoveryDir = "/var/lib/freshet/recovery"
	programsDir = "/etc/freshet/archive"
	socketsDir  = "/var/run/postgresql"
)

// The programs of an archive, and the file by which the server lets base backups in.
const (
	archiveProgram = "archive-wal.sh"
	backupProgram  = "backup.sh"
	recoverProgram = "recover.sh"
	admissionFile  = "pg_hba.conf"
)

//go:embed scripts/*.sh
var scripts embed.FS

// ArchiveName names the claim of the builtin PostgreSQL's archive, its programs, and what takes base backups.
func ArchiveName(c *v1alpha1.HTAPCluster) string { return OLTPName(c) + "-archive" }

// ArchiveClaim is the claim with the archive.
func (c Cluster) ArchiveClaim() *corev1.PersistentVolumeClaim {
	made := claim(v1alpha1.DataStorageSpec(c.Spec.OLTP.PostgreSQL.Archive.Storage))
	made.ObjectMeta = meta(c.HTAPCluster, componentOLTP, ArchiveName(c.HTAPCluster))
	return &made
}

// ArchivePrograms are the programs of archive and recovery.
func (c Cluster) ArchivePrograms() (*corev1.ConfigMap, error) {
	data := map[string]string{admissionFile: c.admission()}
	for _, name := range []string{archiveProgram, backupProgram, recoverProgram} {
		text, err := scripts.ReadFile("scripts/" + name)
		if err != nil {
			return nil, fmt.Errorf("read program %s: %w", name, err)
		}
		data[name] = string(text)
	}
	return &corev1.ConfigMap{ObjectMeta: meta(c.HTAPCluster, componentOLTP, ArchiveName(c.HTAPCluster)), Data: data}, nil
}

// admission lets the role that takes base backups in: to the image's own file "all" databases are none of replication. What is in that comes after.
func (c Cluster) admission() string {
	return fmt.Sprintf("hostssl replication %s all scram-sha-256\ninclude %s/%s\n", c.backupRole().Name, postgresData, admissionFile)
}

// backupRole is the role that takes base backups: it has REPLICATION, and by that it may.
func (c Cluster) backupRole() OLTPRole {
	if roles := c.OLTPRoles(); len(roles) > 1 {
		return roles[1] // the units'
	}
	return c.OLTPRoles()[0]
}

// archiveSettings are the server's for its archive.
func archiveSettings() map[string]string {
	return map[string]string{
		"archive_mode":    "on",
		"archive_command": fmt.Sprintf("sh %s/%s %%p %s/wal/%%f", programsDir, archiveProgram, archiveDir),
		"archive_library": "",
		"hba_file":        programsDir + "/" + admissionFile,
	}
}

// archive gives the database's pod its archive, and the archive that it is made of at first.
func (c Cluster) archive(pod *corev1.PodSpec) {
	spec, server := c.Spec.OLTP.PostgreSQL, &pod.Containers[0]
	if spec.Archive == nil && spec.Recovery == nil {
		return
	}
	programs := corev1.VolumeMount{Name: "programs", MountPath: programsDir, ReadOnly: true}
	pod.Volumes = append(pod.Volumes, c.programsVolume())
	if spec.Recovery != nil {
		pod.Volumes = append(pod.Volumes, claimVolume("recovery", spec.Recovery.ClaimName))
		pod.InitContainers = append(pod.InitContainers, c.recovery(*server, programs))
	}
	if spec.Archive != nil {
		pod.Volumes = append(pod.Volumes, claimVolume("archive", ArchiveName(c.HTAPCluster)))
		server.VolumeMounts = append(server.VolumeMounts, programs, mount("archive", archiveDir))
	}
}

func (c Cluster) programsVolume() corev1.Volume {
	return corev1.Volume{Name: "programs", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: ArchiveName(c.HTAPCluster)}, DefaultMode: ptr.To[int32](0o444),
	}}}
}

func claimVolume(volume, name string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

// recoveryStamp is how base backups are named, by the time at which they had ended.
const recoveryStamp = "20060102150405"

// recovery is the container that makes the data of another's archive, with the server's own settings: the log may need them.
func (c Cluster) recovery(server corev1.Container, programs corev1.VolumeMount) corev1.Container {
	var before, target string
	if t := c.Spec.OLTP.PostgreSQL.Recovery.TargetTime; t != nil {
		utc := t.UTC()
		before, target = utc.Format(recoveryStamp), utc.Format("2006-01-02 15:04:05.999999-07")
	}
	var env []corev1.EnvVar
	for _, v := range server.Env {
		if v.Name != initdbArgs {
			env = append(env, v)
		}
	}
	return corev1.Container{
		Name: "recover", Image: server.Image, Command: []string{"sh", programsDir + "/" + recoverProgram}, Args: server.Args[1:],
		Env: append(env,
			corev1.EnvVar{Name: "RECOVERY", Value: recoveryDir}, corev1.EnvVar{Name: "BEFORE", Value: before},
			corev1.EnvVar{Name: "TARGET_TIME", Value: target}, corev1.EnvVar{Name: "SOCKETS", Value: socketsDir}),
		Resources: server.Resources, SecurityContext: restrictContainer(),
		VolumeMounts: []corev1.VolumeMount{
			mount("data", postgresMount), mount("run", socketsDir), mount("tmp", "/tmp"), mount("shm", "/dev/shm"), programs,
			{Name: "recovery", MountPath: recoveryDir, ReadOnly: true},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// Backups takes base backups. The claim can be used on one node only, which is that of the database's pod.
func (c Cluster) Backups() *batchv1.CronJob {
	spec := c.Spec.OLTP.PostgreSQL
	pod := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		SecurityContext:              restrictPod(postgresUser),
		AutomountServiceAccountToken: ptr.To(false),
		EnableServiceLinks:           ptr.To(false),
		Containers:                   []corev1.Container{c.backup(spec)},
		Volumes: []corev1.Volume{
			c.programsVolume(), claimVolume("archive", ArchiveName(c.HTAPCluster)), scratch("tmp"), secretVolume("oltp", c.backupRole().Secret, caFile),
		},
		Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: selector(c.HTAPCluster, componentOLTP)}, TopologyKey: corev1.LabelHostname,
		}}}},
	}
	place(&pod, c.OLTPPool)
	l := labels(c.HTAPCluster, componentAdmin)
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: ArchiveName(c.HTAPCluster), Namespace: c.Namespace, Labels: l},
		Spec: batchv1.CronJobSpec{
			Schedule: string(spec.Archive.Schedule), TimeZone: ptr.To("Etc/UTC"), ConcurrencyPolicy: batchv1.ForbidConcurrent,
			StartingDeadlineSeconds:    ptr.To(int64(time.Hour / time.Second)),
			SuccessfulJobsHistoryLimit: ptr.To[int32](1), FailedJobsHistoryLimit: ptr.To[int32](1),
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: l},
				Spec: batchv1.JobSpec{
					BackoffLimit: ptr.To[int32](2),
					Template:     corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: pod},
				},
			},
		},
	}
}

func (c Cluster) backup(spec *v1alpha1.PostgreSQLSpec) corev1.Container {
	role := c.backupRole()
	value := func(name, text string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: text} }
	return corev1.Container{
		Name:    "backup",
		Image:   cmp.Or(spec.Image, c.Images.PostgreSQL),
		Command: []string{"sh", programsDir + "/" + backupProgram},
		Env: []corev1.EnvVar{
			value("ARCHIVE", archiveDir), value("KEEP", strconv.Itoa(int(spec.Archive.Keep))),
			value("PGHOST", PostgreSQLHost(c.HTAPCluster)), value("PGPORT", strconv.Itoa(SQLPort)), value("PGUSER", role.Name),
			fromSecret("PGPASSWORD", role.Secret, PasswordKey), value("PGSSLMODE", "verify-full"), value("PGSSLROOTCERT", oltpDir+"/"+caFile),
			value("PGAPPNAME", "freshet base backup"),
		},
		Resources:       guaranteed(v1alpha1.ResourcesSpec{CPU: resource.MustParse("500m"), Memory: resource.MustParse("256Mi")}),
		SecurityContext: restrictContainer(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "programs", MountPath: programsDir, ReadOnly: true}, mount("archive", archiveDir), mount("tmp", "/tmp"),
			{Name: "oltp", MountPath: oltpDir, ReadOnly: true},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError, // the reason is where a person looks
	}
}
