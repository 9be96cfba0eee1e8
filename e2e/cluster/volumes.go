package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const provisioner = "freshet.io/folder"

// startVolumes creates the default storage class.
func (c *Cluster) startVolumes(ctx context.Context) error {
	_, err := c.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta:    metav1.ObjectMeta{Name: "folder", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner:   provisioner,
		ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the storage class: %w", err)
	}
	return c.start("provisioner", c.cfg.Provisioner, "--kubeconfig="+c.Kubeconfig, "--name="+provisioner, "--folder="+filepath.Join(c.cfg.Dir, "volumes"))
}
