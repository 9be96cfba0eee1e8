// Command provisioner makes volumes for a cluster for tests: folders that every node can reach, as the volumes of a storage network.
//
//	provisioner --kubeconfig FILE --name PROVISIONER --folder FOLDER
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file by which the API server is reached")
	name := flag.String("name", "", "the provisioner's name in storage classes")
	folder := flag.String("folder", "", "folder of all volumes")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, "provisioner:", err)
		os.Exit(1)
	}
	ctx := context.Background() // it is ended with its process
	client := kubernetes.NewForConfigOrDie(config)
	controller.NewProvisionController(ctx, client, *name, &folders{*folder}, controller.LeaderElection(false)).Run(ctx)
}

// folders provisions volumes in a folder.
type folders struct{ root string }

// Provision creates the folder of a volume.
func (f *folders) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	path := filepath.Join(f.root, o.PVC.Namespace+"-"+o.PVC.Name+"-"+string(o.PVC.UID))
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("create volume: %w", err)
	}
	// Whatever the umask: pods of any user write to it.
	if err := os.Chmod(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("create volume: %w", err)
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes it.
func (f *folders) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	if err := os.RemoveAll(volume.Spec.HostPath.Path); err != nil {
		return fmt.Errorf("delete volume %s: %w", volume.Name, err)
	}
	return nil
}
