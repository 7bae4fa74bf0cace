package owners

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/managers"
	"holdfast.dev/holdfast/ownership"
)

// transfer changes the owners of fields of one object. It collects the changes for one
// request.
type transfer struct {
	owned
	managers *managers.Fields
	// applied is the last-applied configuration with the changes, "" if there is none.
	applied string
}

func newTransfer(o owned) *transfer {
	return &transfer{owned: o, managers: managers.New(o.GetManagedFields(), time.Now()), applied: o.GetAnnotations()[ownership.LastApplied]}
}

// toImperative takes a field from client-side and server-side apply. If neither owns it,
// nothing says so.
func (t *transfer) toImperative(path ownership.Path) (nothing string, err error) {
	moved := t.isApplied(path)
	if moved {
		if t.applied, err = ownership.RemoveApplied(t.kind, t.object(), path); err != nil {
			return "", err
		}
	}
	released, err := t.release(path)
	if err != nil {
		return "", err
	}
	if moved || released {
		return "", nil
	}
	if whole, ok := ownership.Retained(t.kind, t.object(), path); ok {
		return "", fmt.Errorf("field %s: kubectl apply sets %s as a whole and clears the rest; transfer that", path, whole)
	}
	return "apply does not own it", nil
}

// release takes a field from the managers of server-side apply that own it. It returns false if there is none.
func (t *transfer) release(path ownership.Path) (bool, error) {
	owners := t.owners(path)
	if len(owners) == 0 {
		return false, nil
	}
	released, err := t.managers.Release(path, transferManager)
	if err == nil && !released {
		return false, fmt.Errorf("field %s: it is part of a larger value for server-side apply (%s); transfer that", path, owners[0])
	}
	return released, err
}

// toApply gives a field to client-side apply if the object is applied that way, else to a
// manager of server-side apply. If that owns it already, nothing says so.
func (t *transfer) toApply(path ownership.Path, manager string) (nothing string, err error) {
	if !canBeOwned(path) {
		return "", fmt.Errorf("field %s: apply cannot own it", path)
	}
	if t.applied == "" || manager != "" {
		return t.toManager(path, manager)
	}
	if t.isApplied(path) && !t.differs(path) {
		return "kubectl apply owns it already", nil
	}
	text, err := ownership.AddApplied(t.kind, t.object(), path)
	if err != nil {
		return "", err
	}
	t.applied = text
	return "", nil
}

func (t *transfer) toManager(path ownership.Path, manager string) (nothing string, err error) {
	known := t.managers.Appliers()
	switch {
	case len(known) == 0 && manager == "":
		return "", errors.New("the object is managed neither with kubectl apply nor with server-side apply; " +
			"--manager NAME gives the field to a manager of server-side apply")
	case manager == "" && len(known) > 1:
		return "", fmt.Errorf("several managers apply it: choose one with --manager: %s", strings.Join(known, ", "))
	case manager == "":
		manager = known[0]
	case len(known) > 0 && !slices.Contains(known, manager):
		return "", fmt.Errorf("manager %q does not apply it: the managers that do are %s", manager, strings.Join(known, ", "))
	}
	if owners := t.owners(path); slices.Contains(owners, manager) && !t.managers.SharedWithUpdates(path) {
		return fmt.Sprintf("server-side apply (%s) owns it already", manager), nil
	}
	if fields, _ := t.subject().Fields(); !slices.ContainsFunc(fields, func(f ownership.Field) bool { return isWithin(f.Path, path) }) {
		return "", fmt.Errorf("field %s: the object has no such field", path)
	}
	return "", t.managers.Give(path, metav1.ManagedFieldsEntry{Manager: manager, APIVersion: t.GetAPIVersion()})
}

// object returns the object with the changed configuration.
func (t *transfer) object() map[string]any { return ownership.WithLastApplied(t.Object, t.applied) }

// owners returns the managers that own a field or a part of it by server-side apply.
func (t *transfer) owners(path ownership.Path) []string {
	var managers []string
	fields, _ := t.subject().Fields()
	for _, f := range fields {
		if isWithin(f.Path, path) || isWithin(path, f.Path) {
			managers = append(managers, f.Managers...)
		}
	}
	slices.Sort(managers)
	return slices.Compact(managers)
}

// isApplied reports whether client-side apply owns a field. Fields that no apply sets, such as
// the name, have no owner.
func (t *transfer) isApplied(path ownership.Path) bool {
	return t.applied != "" && canBeOwned(path) && ownership.IsApplied(t.kind, t.object(), path)
}

// differs reports whether the live value of a field is not the one applied last.
func (t *transfer) differs(path ownership.Path) bool {
	return slices.ContainsFunc(t.subject().Drift(), func(f ownership.Finding) bool {
		return isWithin(f.Path, path) || isWithin(path, f.Path)
	})
}

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch returns the changes as a JSON patch, nil if there are none. The resourceVersion makes
// the server refuse the patch if the object has changed: the new configuration would lose an
// apply made in between.
func (t *transfer) patch() []operation {
	var changes []operation
	if t.applied != t.GetAnnotations()[ownership.LastApplied] {
		path := "/metadata/annotations/" + strings.ReplaceAll(ownership.LastApplied, "/", "~1")
		changes = append(changes, operation{"replace", path, t.applied})
	}
	if t.managers.Changed() {
		changes = append(changes, operation{"replace", "/metadata/managedFields", t.managers.Entries()})
	}
	if len(changes) == 0 {
		return nil
	}
	return append(changes, operation{"replace", "/metadata/resourceVersion", t.info.ResourceVersion})
}
