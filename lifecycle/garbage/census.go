package garbage

import "k8s.io/apimachinery/pkg/runtime/schema"

// Census is told how many objects there are, by those who watch them all. Its
// methods are called with locks held: they return soon and do not call back.
type Census interface {
	// Begin says that a watch of a kind begins. There may be two for a while, when
	// the version changes in which a kind is watched.
	Begin(resource schema.GroupResource)
	// Listed says that all objects there were of a kind have been counted.
	Listed(resource schema.GroupResource)
	// Count says that an object came into a namespace (1) or went (-1).
	Count(resource schema.GroupResource, namespace string, change int64)
	// End says that a watch ends. What it showed is taken out after that.
	End(resource schema.GroupResource)
	// Discovered says that a watch has begun for every kind the server has.
	Discovered()
}

// nobody takes no census.
type nobody struct{}

func (nobody) Begin(schema.GroupResource)                {}
func (nobody) Listed(schema.GroupResource)               {}
func (nobody) Count(schema.GroupResource, string, int64) {}
func (nobody) End(schema.GroupResource)                  {}
func (nobody) Discovered()                               {}
