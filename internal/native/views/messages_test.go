package views_test

import (
	"fmt"
	"strings"
)

// web returns a Deployment in YAML, with additional lines for its spec and its container.
func web(spec, container string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: red}}
spec:
%s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: ssd}
      containers:
      - name: web
        image: nginx:1.27
%s`, spec, container)
}

// wayOut returns the end of the warning for a command: how to set the field back to z, and
// how to keep the change.
func wayOut(target, field, z string) string {
	back := "set the field back to " + z
	switch {
	case z == "<none>":
		back = "remove the field"
	case z == "<redacted>" || strings.Contains(z, "…"):
		back = "set the field back to the value in the file"
	}
	return fmt.Sprintf("  To undo: `kubectl apply` the file again, or %s.  "+
		"To keep it: `holdfast transfer %s --field '%s' --to imperative`.", back, target, field)
}

// changedByCommand returns the warning for a command that changes a field that kubectl apply
// manages: from x to y, last applied as z.
func changedByCommand(command, field string, x, y, z string) string {
	return fmt.Sprintf("`%s` changed the resource apps/Deployment/web field %s value from %s to %s.  This field is "+
		"managed by `kubectl apply` (last set the field to %s), "+
		"and may be overwritten or cleared the next time `kubectl apply` is run.",
		command, field, x, y, z) + wayOut("deployment.apps/web", field, z)
}

// driftedField returns the warning for kubectl apply of a field that differs from the last
// applied value.
func driftedField(field, x, y, z, last string) string {
	return fmt.Sprintf("`kubectl apply` is changing the resource apps/Deployment/web field %s value from %s to %s.  "+
		"This field's value does not match the last value set by `apply` (%s), and another source may have updated this field.%s",
		field, x, y, z, last)
}

// foreignField returns the warning for kubectl apply of a field that it has not applied before
// and that has another value.
func foreignField(field, x, y, last string) string {
	return fmt.Sprintf("WARNING: `kubectl apply` is changing the resource apps/Deployment/web field %s value from %s to "+
		"%s.  This field's value does not appear in the last configuration applied, "+
		"was previously set by another source.  This field may have been set by a controller outside of apply.%s",
		field, x, y, last)
}

// takesOver returns the warning for kubectl apply of a field that it has not applied before
// and that has the same value.
func takesOver(field, last string) string {
	return fmt.Sprintf("WARNING: `kubectl apply` takes over apps/Deployment/web field %s.  This field's value does not "+
		"appear in the last configuration applied, was previously set by another source.  This field may have been set "+
		"by a controller outside of apply.%s",
		field, last)
}

// rejectedEdit returns the reason why kubectl edit of a field is rejected.
func rejectedEdit(field, x, y, z string) string {
	return fmt.Sprintf("%s: managed by `kubectl apply` (last set the field to %s), "+
		"and the edit changes it from %s to %s: change it in the file and apply that, "+
		"or force the edit with `holdfast edit --force` or `kubectl edit --field-manager=force`",
		field, z, x, y)
}

const (
	image = `.spec.template.spec.containers[name="web"].image`
	side  = `.spec.template.spec.containers[name="side"]`
	args  = `.spec.template.spec.containers[name="web"].args`
	env   = `.spec.template.spec.containers[name="web"].env`
)

// container returns a patch for the containers of a Deployment.
func container(items string) string {
	return `{"spec":{"template":{"spec":{"containers":[` + items + `]}}}}`
}
