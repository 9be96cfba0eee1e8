package manifest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// EndpointService has the units that are fresh.
func (c Cluster) EndpointService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: meta(c.HTAPCluster, componentUnit, c.Name),
		Spec: corev1.ServiceSpec{
			Selector: Selector(c.HTAPCluster),
			Ports:    []corev1.ServicePort{servicePort("sql", SQLPort)},
		},
	}
}

// UnitsService gives each unit a name of its own, fresh or not.
func (c Cluster) UnitsService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: meta(c.HTAPCluster, componentUnit, UnitsName(c.HTAPCluster)),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: Selector(c.HTAPCluster),
			Ports: []corev1.ServicePort{servicePort("sql", SQLPort), servicePort("monitor", MonitorPort)},
		},
	}
}

// OLTPService is the builtin database's address.
func (c Cluster) OLTPService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: meta(c.HTAPCluster, componentOLTP, OLTPName(c.HTAPCluster)),
		Spec: corev1.ServiceSpec{
			Selector: selector(c.HTAPCluster, componentOLTP),
			Ports:    []corev1.ServicePort{servicePort("sql", SQLPort)},
		},
	}
}

func servicePort(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP}
}
