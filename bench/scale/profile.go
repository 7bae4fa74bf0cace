package scale

// Profile is what one node does, and what the cluster does for its pods. All values are assumptions.
type Profile struct {
	Name string
	// Pods is the number of pods of a node. Each is replaced Replaced times a day.
	Pods     float64
	Replaced float64
	// LeaseSeconds and StatusSeconds are the intervals of the Lease and of the status of the Node.
	LeaseSeconds, StatusSeconds float64
	// Connections is the number of connections of a node, and Watches the number of its watches beside those of ConfigMaps and Secrets.
	Connections, Watches float64
	// ObjectWatches is the number of watches of ConfigMaps and Secrets.
	ObjectWatches float64
	// Readers is the number of clients that watch all pods and nodes, such as kube-scheduler.
	Readers float64
	// ServiceChanges is the number of changes of EndpointSlices for one replaced pod, each of which goes to all nodes.
	ServiceChanges float64
	// PodConfigs is the number of ConfigMaps and Secrets for one pod. It is below 1 if pods share them.
	PodConfigs float64
	// TokenSeconds is the time after which a pod gets a new token.
	TokenSeconds float64
}

// Agents returns the profile of nodes with Holdfast's agent and with immutable ConfigMaps and Secrets, which the agent does not watch.
// One watch remains beside that of the pods: the ConfigMap with the certificate authority is mutable.
func Agents() Profile {
	return Profile{
		Name: "agents", Pods: 30, Replaced: 1, LeaseSeconds: 10, StatusSeconds: 300,
		Connections: 1, Watches: 1, ObjectWatches: 1, Readers: 4, TokenSeconds: 2880, PodConfigs: 2,
	}
}

// Kubelets returns the profile of nodes with a kubelet and kube-proxy. Each pod has a ConfigMap and a Secret of its own, both mutable,
// and the kubelet watches each of them.
func Kubelets() Profile {
	p := Agents()
	p.Name, p.Connections, p.Watches, p.ObjectWatches, p.ServiceChanges = "kubelets", 2, 8, 2*p.Pods+1, 1
	return p
}

// ImmutableKubelets returns the profile of nodes with a kubelet and kube-proxy whose ConfigMaps and Secrets are immutable. A kubelet
// stops its watch of an immutable object after it has read the object.
func ImmutableKubelets() Profile {
	p := Kubelets()
	p.Name, p.ObjectWatches = "kubelets, immutable", 1
	return p
}

// The requests in the life of one pod that a controller creates.
const (
	podStatuses = 5 // bind, three changes of the status, and the end
	podDeletes  = 2 // by the controller, and by the node
	podEvents   = 6
	podOwners   = 2 // statuses of the ReplicaSet and the Deployment
	// podChanges is the number of events that each watch of the pod gets.
	podChanges = 1 + podStatuses + podDeletes
)

// What custom resources do. A definition in use has a controller that watches its objects.
const (
	// usedShare is the part of the definitions that is in use, and objectsPerUsed the number of objects of each.
	usedShare      = 0.3
	objectsPerUsed = 20
	// customSeconds is the time after which a controller reads an object and patches its status.
	customSeconds = 600
)

// The sizes of stored objects in KB, with managed fields.
const (
	nodeSize, leaseSize, podSize, configSize = 9.0, 0.6, 5.0, 3.5
	eventSize, customSize, definitionSize    = 1.0, 3.0, 35.0
	// storedFactor is the size of the database for one byte of objects: pages are not full.
	storedFactor = 1.5
	// eventSeconds is how long the server keeps an event.
	eventSeconds = 3600
)

// Load is what a server carries.
type Load struct {
	Nodes, Definitions float64
	Profile            Profile
}

// used returns the number of definitions in use.
func (l Load) used() float64 { return usedShare * l.Definitions }

// customObjects returns the number of custom resources.
func (l Load) customObjects() float64 { return objectsPerUsed * l.used() }

// pods returns the number of pods, and replacedPods how many of them are replaced in one second.
func (l Load) pods() float64 { return l.Nodes * l.Profile.Pods }

func (l Load) replacedPods() float64 { return l.pods() * l.Profile.Replaced / 86_400 }
