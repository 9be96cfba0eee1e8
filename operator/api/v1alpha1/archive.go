package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ArchiveSpec is where a PostgreSQL archives its log, and base backups of itself, so that it can be recovered as it was at any time since the oldest
// of these.
type ArchiveSpec struct {
	// Storage is a volume of its own, claim <name>-oltp-archive, which deletionPolicy keeps or deletes as it does the data's. It holds one base backup
	// more than keep, each as large as the data, and the log since the oldest, 16 MiB for each five minutes in which anything is written at the least. Size
	// may be raised where the class of the volume lets it grow; else it is refused, which condition Ready tells, until it is set back.
	//
	// +kubebuilder:default={size: "100Gi"}
	// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName of an archive cannot be changed: take the archive out, move or delete its claim, and add it again"
	// +optional
	Storage StorageSpec `json:"storage,omitzero"`

	// Schedule of base backups in UTC, as cron has it: minute, hour, day of the month, month, day of the week.
	//
	// +kubebuilder:default="0 2 * * *"
	// +optional
	Schedule CronSchedule `json:"schedule,omitempty"`

	// Keep is the number of base backups that are kept. When there is another one the oldest is deleted, with the log before the next.
	//
	// +kubebuilder:default=7
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Keep int32 `json:"keep,omitempty"`
}

// CronSchedule is a line of cron: five fields, of which each is *, numbers, ranges or a list of them, with a step where that is wanted.
//
// +kubebuilder:validation:MaxLength=100
// +kubebuilder:validation:XValidation:rule="self.split(' ').size() == 5 && self.split(' ')[0].split(',').all(e, e.matches('^([*]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?$')) && self.split(' ')[1].split(',').all(e, e.matches('^([*]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?$')) && self.split(' ')[2].split(',').all(e, e.matches('^([*]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?$')) && self.split(' ')[3].split(',').all(e, e.matches('^([*]|(0?[1-9]|1[0-2])(-(0?[1-9]|1[0-2]))?)(/[1-9][0-9]?)?$')) && self.split(' ')[4].split(',').all(e, e.matches('^([*]|[0-6](-[0-6])?)(/[1-9][0-9]?)?$'))",message="schedule: give five fields as cron has them, such as 0 2 * * *: minute, hour, day of the month, month, day of the week"
type CronSchedule string

// RecoverySpec is the archive that a new PostgreSQL is made of.
type RecoverySpec struct {
	// ClaimName names the PersistentVolumeClaim of another cluster's archive in the same namespace. It is only read, and is needed while this
	// HTAPCluster exists.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	ClaimName string `json:"claimName"`

	// TargetTime is the time as of which the database is recovered: what was committed later is not in it. The archive must have a base backup that
	// ended before, and something that was committed after it. Absent: as late as the archive goes.
	//
	// +optional
	TargetTime *metav1.Time `json:"targetTime,omitempty"`
}
