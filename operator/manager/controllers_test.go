//go:build kubernetes

package manager

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// withControllers runs another API server, with Kubernetes' own controllers of StatefulSets, of garbage and of claims that are in use, and the chart.
func withControllers(t *testing.T) *rest.Config {
	t.Helper()
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../manifests/crds"}, ErrorIfCRDPathMissing: true}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	api, err := env.Start()
	if err == nil {
		err = installChart(t.Context(), api)
	}
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err == nil {
		err = os.WriteFile(config, env.KubeConfig, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-controller-manager"), "--kubeconfig="+config, "--leader-elect=false",
		"--secure-port=0", "--controllers=statefulset-controller,garbage-collector-controller,persistentvolumeclaim-protection-controller")
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("kube-controller-manager:\n%s", log.String())
		}
	})
	return api
}

// playNodes plays kubelets and a provisioner, once: the pods of a StatefulSet that runs run, and its claims are bound.
func (w *world) playNodes(set string, pods int) error {
	for number := range pods {
		var claim corev1.PersistentVolumeClaim
		if err := w.get(fmt.Sprintf("data-%s-%d", set, number), &claim); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			if err := w.has(&claim, claim.Spec.Resources.Requests.Storage().String()); err != nil {
				return err
			}
		}
		var pod corev1.Pod
		if err := w.get(fmt.Sprintf("%s-%d", set, number), &pod); err != nil {
			return err
		}
		if pod.Status.Phase != corev1.PodRunning {
			pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, fmt.Sprintf("10.0.0.%d", number+1)
			pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			w.units.answer(pod.Status.PodIP, fresh)
			if err := w.Status().Update(w.t.Context(), &pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// settled waits until a StatefulSet of a size has its pods, and owns their claims as it is to.
func (w *world) settled(name, size string, pods int) (set appsv1.StatefulSet, uids []types.UID) {
	w.t.Helper()
	w.eventually(func() error {
		if err := w.playNodes(name, pods); err != nil {
			return err
		}
		set, uids = appsv1.StatefulSet{}, nil
		if err := w.get(name, &set); err != nil {
			return err
		}
		// One that was made anew may have been told the generation that the one before had.
		if is := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().String(); is != size || set.Status.ReadyReplicas != int32(pods) ||
			set.Status.ObservedGeneration < set.Generation || set.Status.UpdatedReplicas != int32(pods) {
			return fmt.Errorf("StatefulSet %s makes volumes of %s and has status %+v", name, is, set.Status)
		}
		for number := range pods {
			var pod corev1.Pod
			var claim corev1.PersistentVolumeClaim
			if err := w.get(fmt.Sprintf("%s-%d", name, number), &pod); err != nil {
				return err
			}
			if err := w.get("data-"+pod.Name, &claim); err != nil {
				return err
			}
			owned := set.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
			if !metav1.IsControlledBy(&pod, &set) || metav1.IsControlledBy(&claim, &set) != owned || !claim.DeletionTimestamp.IsZero() || !pod.DeletionTimestamp.IsZero() {
				return fmt.Errorf("pod %s is owned by %+v, its claim by %+v", pod.Name, pod.OwnerReferences, claim.OwnerReferences)
			}
			uids = append(uids, pod.UID, claim.UID)
		}
		return nil
	})
	return set, uids
}

func TestCluster_growsVolumesUnderTheControllersOfKubernetes(t *testing.T) {
	w := newIdleWorld(t, withControllers(t))
	w.operate()
	class := w.class(true)
	c := databaseWith(class, v1alpha1.Delete)
	c.Spec.Columnar.Units, c.Spec.Columnar.Storage.StorageClassName = 2, class
	w.create(c)
	database, databaseBefore := w.settled("shop-oltp", "20Gi", 1)
	units, unitsBefore := w.settled("shop-unit", "20Gi", 2)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	for _, size := range []string{"30Gi", "40Gi"} {
		w.change(fmt.Sprintf(`{"spec":{"columnar":{"storage":{"size":%q}},"oltp":{"postgresql":{"storage":{"size":%q}}}}}`, size, size))
		databaseNow, databaseAfter := w.settled("shop-oltp", size, 1)
		unitsNow, unitsAfter := w.settled("shop-unit", size, 2)
		if databaseNow.UID == database.UID || unitsNow.UID == units.UID {
			t.Error("a StatefulSet has another template, and is the same")
		}
		if fmt.Sprint(databaseBefore, unitsBefore) != fmt.Sprint(databaseAfter, unitsAfter) {
			t.Errorf("pods or claims were replaced: %v, %v before, %v, %v after", databaseBefore, unitsBefore, databaseAfter, unitsAfter)
		}
		if databaseNow.Status.UpdateRevision != database.Status.UpdateRevision || unitsNow.Status.UpdateRevision != units.Status.UpdateRevision {
			t.Error("pods are of another revision, and restart")
		}
		database, units = databaseNow, unitsNow
	}
	var claim corev1.PersistentVolumeClaim
	if err := w.get("data-shop-unit-1", &claim); err != nil {
		t.Fatal(err)
	}
	if is := claim.Spec.Resources.Requests.Storage().String(); is != "40Gi" {
		t.Errorf("a claim asks for %s", is)
	}
	// Volumes that are to go still go with their pods, and with the cluster.
	w.scale(1)
	w.vanished("data-shop-unit-1", &corev1.PersistentVolumeClaim{})
	if err := w.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.vanished("shop", &v1alpha1.HTAPCluster{})
	for _, name := range []string{"shop-unit-0", "shop-oltp-0"} {
		w.vanished(name, &corev1.Pod{})
		w.vanished("data-"+name, &corev1.PersistentVolumeClaim{})
	}
}

// vanished waits until an object is no more.
func (w *world) vanished(name string, o client.Object) {
	w.t.Helper()
	w.eventually(func() error {
		if err := w.get(name, o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is still there: %v, %+v", name, err, o.GetFinalizers())
		}
		return nil
	})
}

func TestCluster_startsADatabaseWhoseSpecWasCorrected(t *testing.T) {
	w := newIdleWorld(t, withControllers(t))
	w.operate()
	c := databaseWith(nil, v1alpha1.Retain)
	c.Spec.OLTP.PostgreSQL.Image = "postgres:mistyped"
	w.create(c)
	w.awaitImage("postgres:mistyped", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}})
	w.change(`{"spec":{"oltp":{"postgresql":{"image":"postgres:18"}}}}`)
	pod := w.awaitImage("postgres:18", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	// One that recovers is left alone, whatever its template.
	w.change(`{"spec":{"oltp":{"postgresql":{"image":"postgres:18.1"}}}}`)
	w.eventually(func() error {
		var set appsv1.StatefulSet
		if err := w.get("shop-oltp", &set); err != nil {
			return err
		}
		if set.Status.UpdateRevision == pod.Labels[appsv1.ControllerRevisionHashLabelKey] {
			return fmt.Errorf("StatefulSet has status %+v", set.Status)
		}
		return nil
	})
	w.change(`{"spec":{"gateway":{"drainTime":"40s"}}}`)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseStarting") // it has been looked at since
	var now corev1.Pod
	if err := w.get(pod.Name, &now); err != nil || now.UID != pod.UID || !now.DeletionTimestamp.IsZero() {
		t.Errorf("a server that recovers was ended: %v, %+v", err, now.ObjectMeta)
	}
}

// awaitImage waits until the builtin database's pod is of an image, and plays a kubelet that has its container in a state, not ready.
func (w *world) awaitImage(image string, state corev1.ContainerState) *corev1.Pod {
	w.t.Helper()
	var pod corev1.Pod
	w.eventually(func() error {
		pod = corev1.Pod{}
		if err := w.get("shop-oltp-0", &pod); err != nil {
			return err
		}
		if is := pod.Spec.Containers[0].Image; is != image {
			return fmt.Errorf("the database's pod has image %q", is)
		}
		pod.Status.Phase = corev1.PodPending
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, Image: image, State: state}}
		return w.Status().Update(w.t.Context(), &pod)
	})
	return &pod
}

func TestCluster_givesAUnitAnotherVolumeAsTheRunbookSays(t *testing.T) {
	w := newIdleWorld(t, withControllers(t))
	w.operate()
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	_, before := w.settled("shop-unit", "20Gi", 1)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	for _, o := range []client.Object{
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-shop-unit-0", Namespace: w.namespace}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop-unit-0", Namespace: w.namespace}},
	} {
		if err := w.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.eventually(func() error {
		if _, now := w.settled("shop-unit", "20Gi", 1); now[0] == before[0] || now[1] == before[1] {
			return fmt.Errorf("pod and claim are %v, and were %v", now, before)
		}
		return nil
	})
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}
