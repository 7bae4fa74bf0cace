package collection

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/references"
	"holdfast.dev/holdfast/internal/series"
)

// Outlook is what the controller will do with an object, as far as this server knows. The leader may be another server, and may have
// started later.
type Outlook struct {
	// Stays is why the object is not deleted. It is empty if it is deleted, unless an object refers to it before.
	Stays string
	// Unused is since when no object refers to the object, zero if one does.
	Unused time.Time
	// Marked says that the object has the mark of the controller.
	Marked bool
	// Goes is when the object is deleted at the earliest, zero if it stays.
	Goes time.Time
}

// Knowledge is the part of an Index that does not change anything.
type Knowledge interface {
	Unused(kind references.Kind, namespace, name string) (since time.Time, ok bool)
	Incomplete(namespace string) string
}

// Outlooks returns what the controller will do with the members of a series, in their order. They are ConfigMaps, or Secrets, and all members
// that the series has.
func Outlooks(all []runtime.Object, namespace *corev1.Namespace, index Knowledge) []Outlook {
	in, known := newObject(0, namespace.ObjectMeta, nil), newMembers()
	objects := make([]*object, 0, len(all))
	for _, obj := range all {
		// Only objects of these kinds are shrunk.
		if shrunk, _ := shrink(obj); shrunk != nil {
			if o, ok := shrunk.(*object); ok {
				known.replace(nil, o)
				objects = append(objects, o)
			}
		}
	}
	outlooks := make([]Outlook, len(objects))
	for i, o := range objects {
		outlooks[i] = outlook(o, in, known, index)
	}
	return outlooks
}

func outlook(o, namespace *object, known *members, index Knowledge) Outlook {
	out := Outlook{Marked: o.marked}
	since, unused := index.Unused(o.kind, o.Namespace, o.Name)
	if unused {
		out.Unused = since
	}
	found, err := settingsOf(o, namespace, series.LeastAfter)
	why := exempt(o, namespace)
	switch incomplete := index.Incomplete(o.Namespace); {
	case o.DeletionTimestamp != nil:
		out.Stays = "it is being deleted, and finalizers keep it"
	case !unused:
		out.Stays = referenced
	case why != "":
		out.Stays = why
	case err != nil:
		out.Stays = err.Error()
	case known.isAmong(found.keepLast, o):
		out.Stays = amongNewest(found.keepLast)
	case incomplete != "":
		out.Stays = "not all references to it are known: " + incomplete
	default:
		if marked, err := time.Parse(time.RFC3339, o.Annotations[series.UnusedSinceAnnotation]); err == nil && o.marked {
			out.Unused = marked
		}
		out.Goes = out.Unused.Add(found.after + series.LeastAfter)
	}
	return out
}

// amongNewest is why an object is left that is one of the newest of its series.
func amongNewest(keepLast int) string {
	if keepLast == 1 {
		return "it is the newest of its series"
	}
	return fmt.Sprintf("it is one of the newest %d of its series", keepLast)
}
