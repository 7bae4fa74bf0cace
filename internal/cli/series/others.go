package series

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/apiserver/referrers"
)

// otherReport is an object that still refers to another member, because a command for all workloads changes only workloads.
type otherReport struct {
	Name   string `json:"name"`
	Member string `json:"member"`
	// Note says how it can follow.
	Note string `json:"note"`
}

// remaining are the objects that still refer to other members.
type remaining struct {
	Others []otherReport `json:"others,omitempty"`
	// Hidden is the number of references of objects that the user may not get.
	Hidden int `json:"othersHidden,omitempty"`
	// Unknown says why there may be more.
	Unknown string `json:"othersUnknown,omitempty"`
}

// others asks the server which objects still refer to other members than the one to which the workloads point now. The objects that a
// controller makes from the template of a workload are left out, because they follow the workload.
func (f *follower) others(ctx context.Context, workloads []*workload) (left remaining) {
	names := slices.DeleteFunc(f.members.names(), func(name string) bool { return name == f.to })
	if len(names) == 0 {
		return left
	}
	users, err := f.usersOf(ctx, f.members.kind, names)
	if errors.Is(err, errNoIndex) {
		left.Unknown = "this server does not tell which other objects, such as Ingresses, ServiceAccounts and custom resources, refer to " +
			"other members: name them with --in"
		return left
	}
	if err != nil {
		left.Unknown = "the objects that still refer to other members could not be read: " + err.Error()
		return left
	}
	owned := controlled{server: f.server}
	for _, name := range names {
		answer := users[name]
		if answer == nil {
			continue
		}
		left.Hidden += answer.Hidden + answer.More
		if answer.Incomplete != "" {
			left.Unknown = "other objects may refer to other members: " + answer.Incomplete
		}
		for _, r := range answer.Referrers {
			user := userName(r, f.namespace)
			// The index may be a moment behind the writes of this command.
			follows := slices.ContainsFunc(workloads, func(w *workload) bool { return w.String() == user })
			if !follows && !owned.has(ctx, r) {
				left.Others = append(left.Others, otherReport{user, name, followNote(r, user, f.namespace)})
			}
		}
	}
	return left
}

// followNote says how an object can follow.
func followNote(r referrers.Referrer, user, namespace string) string {
	switch {
	case r.Kind == "Pod" || r.Kind == "Job":
		return "create it again with the new name"
	case r.Namespace != "" && r.Namespace != namespace:
		return "change it there"
	}
	return "--in " + user + " lets it follow"
}

// controlled says which pods and Jobs have a controller.
type controlled struct {
	*server
	names map[string][]string
}

// has reports whether an object belongs to a controller. If the user may not list the objects, it does not count as one.
func (o *controlled) has(ctx context.Context, r referrers.Referrer) bool {
	var resource schema.GroupVersionResource
	switch r.Kind {
	case "ReplicaSet", "ControllerRevision":
		return true // one without a controller is among the workloads
	case "Pod":
		resource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	case "Job":
		resource = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	default:
		return false
	}
	if o.names == nil {
		o.names = map[string][]string{}
	}
	names, read := o.names[r.Kind]
	if !read {
		list, err := o.metadata.Resource(resource).Namespace(o.namespace).List(ctx, metav1.ListOptions{})
		if err == nil {
			for i := range list.Items {
				if metav1.GetControllerOf(&list.Items[i]) != nil {
					names = append(names, list.Items[i].Name)
				}
			}
		}
		o.names[r.Kind] = names
	}
	return slices.Contains(names, r.Name)
}

// print prints the objects in lines.
func (r remaining) print(out io.Writer) {
	for _, other := range r.Others {
		fmt.Fprintf(out, "%s still refers to %s: %s\n", other.Name, other.Member, other.Note)
	}
	if r.Hidden > 0 {
		fmt.Fprintf(out, "objects that you may not get still refer to other members: %d\n", r.Hidden)
	}
	if r.Unknown != "" {
		fmt.Fprintln(out, r.Unknown)
	}
}
