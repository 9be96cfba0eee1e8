package cluster

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cockroach"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// state is what the tasks of one run share. A task fills in what those after it need; the headings name the task of the plan that does. The zero
// value of a field that no task has filled in means that there is nothing: no roles, no volumes, no lack. When the cluster is deleted, cleanPipeline and
// cleanDatabase fill in the connection, the transport and root themselves.
type state struct {
	cluster *v1alpha1.HTAPCluster
	// status is the new one, and told are the conditions that tasks of this run have set.
	status *v1alpha1.HTAPClusterStatus
	told   map[string]bool
	// objects builds the cluster's objects; tasks add what they learn.
	objects manifest.Cluster

	// Of provideDatabase:

	// connection is the database's, as units use it, and workerURL is its connection string as Kafka Connect uses it.
	connection database.Connection
	workerURL  string
	// roles are those of the operator's own PostgreSQL.
	roles []oltpRole
	// oltpVolumes are those of the operator's own database.
	oltpVolumes volumes
	// databaseLack is why CloudNativePG's Cluster is not ready, or the database's volumes or settings are not as they are to be; nil: they are.
	databaseLack *lack.Lack
	// backupLack is why the last base backup failed; nil: it did not.
	backupLack *lack.Lack
	// root is the operator's own access to a CockroachDB, and password that of its role.
	root     cockroach.Root
	password string

	// Of inspectDatabase:

	// refused says that nobody gets into the database by the connection.
	refused bool

	// Of findPipeline and inspectPipeline:

	// transport is the operator's own access to Kafka and Kafka Connect, and pipelineLacks is what they lack for units.
	transport     debezium.Transport
	pipelineLacks []*lack.Lack

	// Of issueCertificate:

	// certificateLack is why cert-manager has not issued the endpoint's certificate, or not as it is to be; nil: it has.
	certificateLack *lack.Lack

	// Of provideDatabase, issueCredentials and issueCertificate:

	// inputs are the contents of the Secrets that units read at their start.
	inputs []map[string][]byte

	// Of runUnits:

	// unitVolumes are those of the units.
	unitVolumes volumes

	// Of runConnectors:

	// connectorLacks is what the connectors of Kafka Connect lack.
	connectorLacks []*lack.Lack
}

func newState(c *v1alpha1.HTAPCluster, images manifest.Images) *state {
	status := c.Status.DeepCopy()
	status.ObservedGeneration = c.Generation
	return &state{cluster: c, status: status, told: map[string]bool{}, objects: manifest.Cluster{HTAPCluster: c, Images: images}}
}

// is sets a condition to true.
func (s *state) is(condition, reason, format string, args ...any) {
	s.set(condition, metav1.ConditionTrue, reason, format, args...)
}

// isNot sets a condition to false.
func (s *state) isNot(condition, reason, format string, args ...any) {
	s.set(condition, metav1.ConditionFalse, reason, format, args...)
}

func (s *state) set(condition string, status metav1.ConditionStatus, reason, format string, args ...any) {
	s.told[condition] = true
	meta.SetStatusCondition(&s.status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: clip(fmt.Sprintf(format, args...)), ObservedGeneration: s.cluster.Generation,
	})
}

// conclude sets Ready from the conditions that it consists of. One that no task came to in this run is unknown for this generation.
func (s *state) conclude() {
	for _, name := range parts {
		c := meta.FindStatusCondition(s.status.Conditions, name)
		if c == nil || c.ObservedGeneration != s.cluster.Generation && c.Status == metav1.ConditionTrue {
			s.set(name, metav1.ConditionUnknown, ReasonNotReached, "what comes before is not done")
		}
	}
	if !s.cluster.DeletionTimestamp.IsZero() {
		return // the tasks of deletion say how far they are
	}
	for _, name := range parts {
		if c := meta.FindStatusCondition(s.status.Conditions, name); c.Status != metav1.ConditionTrue {
			s.isNot(v1alpha1.ConditionReady, c.Reason, "%s: %s", name, c.Message)
			return
		}
	}
	s.is(v1alpha1.ConditionReady, ReasonReady, "all units serve")
}

// parts are what Ready consists of, in the order of the plan: the first that is not true is the one to look at.
var parts = []string{
	v1alpha1.ConditionOLTPReady, v1alpha1.ConditionPipelineReady, v1alpha1.ConditionIsolationApplied, v1alpha1.ConditionReplicasFresh,
	v1alpha1.ConditionSnapshotConsistent,
}

// Reasons of conditions. Those of a database that cannot be replicated are in package database, those of a Kafka that cannot be used in
// package pipeline; a unit that waits for a person gives the code
// that is its heading in the runbook.
const (
	ReasonReady                     = "Ready"
	ReasonTaskFailed                = "TaskFailed"
	ReasonNotReached                = "NotReached"
	ReasonNodePoolNotFound          = "NodePoolNotFound"
	ReasonCPUNotWhole               = "CPUNotWhole"
	ReasonSecretNotFound            = "SecretNotFound"
	ReasonSecretIncomplete          = "SecretIncomplete"
	ReasonDatabaseStarting          = "DatabaseStarting"
	ReasonReplicable                = "Replicable"
	ReasonResizing                  = "Resizing"
	ReasonDecommissionRefused       = "DecommissionRefused"
	ReasonDecommissionStalled       = "DecommissionStalled"
	ReasonVolumeLeft                = "VolumeLeft"
	ReasonVolumeNotExpandable       = "VolumeNotExpandable"
	ReasonVolumeRefused             = "VolumeRefused"
	ReasonVolumeResizeFailed        = "VolumeResizeFailed"
	ReasonBackupFailed              = "BackupFailed"
	ReasonBackupWaits               = "BackupWaits"
	ReasonUnitsNotRunning           = "UnitsNotRunning"
	ReasonUnitsHindered             = "UnitsHindered"
	ReasonStreaming                 = "Streaming"
	ReasonShared                    = "Shared"
	ReasonDedicated                 = "Dedicated"
	ReasonNodesShared               = "NodesShared"
	ReasonUnitsStale                = "UnitsStale"
	ReasonFresh                     = "Fresh"
	ReasonTablesCopying             = "TablesCopying"
	ReasonTablesStopped             = "TablesStopped"
	ReasonNoSnapshot                = "NoSnapshot"
	ReasonComplete                  = "Complete"
	ReasonStoppingUnits             = "StoppingUnits"
	ReasonStrimziNotInstalled       = "StrimziNotInstalled"
	ReasonCloudNativePGNotInstalled = "CloudNativePGNotInstalled"
	ReasonCloudNativePGNotReady     = "CloudNativePGNotReady"
	ReasonCloudNativePGRefuses      = "CloudNativePGRefuses"
	ReasonCertManagerNotInstalled   = "CertManagerNotInstalled"
	ReasonCertificateNotReady       = "CertificateNotReady"
	ReasonCertificateInvalid        = "CertificateInvalid"
	ReasonCleaningPipeline          = "CleaningPipeline"
	ReasonCleaningDatabase          = "CleaningDatabase"
)

// clip shortens a message to what a status may hold, and an event with a condition's name before it (1024 bytes). It makes it valid UTF-8, which the
// words of servers need not be: what is read back would be another message than was written.
func clip(message string) string {
	const most = 950
	message = strings.ToValidUTF8(message, "�")
	if len(message) <= most {
		return message
	}
	whole := most
	for !utf8.RuneStart(message[whole]) {
		whole--
	}
	return message[:whole] + "…"
}
