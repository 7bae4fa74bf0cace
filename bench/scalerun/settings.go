package scalerun

import "time"

// Settings are the size of a run.
type Settings struct {
	// Nodes is the number of nodes, and Pods that of pods.
	Nodes int `json:"nodes"`
	Pods  int `json:"pods"`
	// Configs is the number of mutable ConfigMaps, as of immutable ones, of mutable Secrets and of immutable Secrets. The pods share them.
	Configs int `json:"configs"`
	// Namespaces is the number of namespaces that have the pods.
	Namespaces int `json:"namespaces"`
	// Creators is the number of clients that create pods, Rate the highest number of pods that they create in a second, and Waiting the
	// highest number of pods that do not run yet.
	Creators int     `json:"creators"`
	Rate     float64 `json:"rate"`
	Waiting  int     `json:"waiting"`
	// Readers is the number of clients that watch all pods and nodes. The first watches all Leases too.
	Readers int `json:"readers"`
	// Lease and Status are the intervals in which a node writes them.
	Lease  time.Duration `json:"lease"`
	Status time.Duration `json:"status"`
	// Probe is the interval in which a client reads single objects, and List that in which it lists all pods.
	Probe time.Duration `json:"probe"`
	List  time.Duration `json:"list"`
	// Settle is how long nothing changes before the memory of the server is read, and Steady how long the phase takes in which nothing
	// changes.
	Settle time.Duration `json:"settle"`
	Steady time.Duration `json:"steady"`
	// Replaced is the number of pods that are replaced, and Lost the number of nodes that are lost.
	Replaced int `json:"replaced"`
	Lost     int `json:"lost"`
	// Quarantine is the time after which the run deletes the pods of lost nodes, on a server that does not do it.
	Quarantine time.Duration `json:"quarantine"`
	// Limit is the longest time of one phase.
	Limit time.Duration `json:"limit"`
	// Spare is the memory of the machine, in MB, that must stay available while pods are added. With a quarter of it left, the run ends the
	// server.
	Spare int64 `json:"spare"`
}

// Full returns the settings of a run of a number of nodes and pods.
func Full(nodes, pods int) Settings {
	return Settings{
		Nodes: nodes, Pods: pods, Configs: 100, Namespaces: 10, Creators: 16, Rate: 100, Waiting: 500, Readers: 4,
		Lease: 10 * time.Second, Status: 5 * time.Minute, Probe: time.Second, List: 5 * time.Minute, Settle: 10 * time.Second,
		Steady: 30 * time.Minute, Replaced: pods / 10, Lost: max(1, nodes/10), Quarantine: 40 * time.Second, Limit: 90 * time.Minute, Spare: 4096,
	}
}

// Short returns the settings of a run that only shows that everything works.
func Short() Settings {
	return Settings{
		Nodes: 5, Pods: 50, Configs: 4, Namespaces: 2, Creators: 4, Rate: 1000, Waiting: 50, Readers: 2,
		Lease: time.Second, Status: 2 * time.Second, Probe: 10 * time.Millisecond, List: 500 * time.Millisecond,
		Steady: 3 * time.Second, Replaced: 5, Lost: 1, Limit: 2 * time.Minute, Spare: 64,
	}
}
