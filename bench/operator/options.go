package operator

import "time"

// Options say what is set up and for how long it is watched. All but Dir and Progress are required.
type Options struct {
	// Programs is a folder with etcd, kube-apiserver and kubectl; Helm the path of Helm; Chart the chart's folder; Operator the path of
	// freshet-operator; Postgres the folder of PostgreSQL's programs.
	Programs, Helm, Chart, Operator, Postgres string
	// Dir is the parent of all data; empty is the system's folder for temporary files.
	Dir string
	// Clusters are spread over Namespaces and have Units each. Nodes are in two pools of equal size.
	Clusters, Namespaces, Units, Nodes int
	// Steady is how long nothing changes but heartbeats of nodes and positions of units.
	Steady time.Duration
	// Progress is told what is being done.
	Progress func(step string)
}

func (o Options) progress(step string) {
	if o.Progress != nil {
		o.Progress(step)
	}
}
