package guard

import (
	"context"
	"strings"
)

// locked waits until guarded objects cannot be updated: connections to a killed guard may still be open.
func (t *trial) locked(ctx context.Context, c *cluster) error {
	for _, args := range [][]string{
		{"patch", "ship", "probe", "--type=merge", "-p", `{"spec":{"count":1}}`},
		{"patch", "ship", "probe", "--type=merge", "-p", `{"spec":{"size":"large"}}`},
	} {
		if err := t.await(ctx, c, isUnavailable, args...); err != nil {
			return err
		}
	}
	return nil
}

// lease is the Lease of a leader election.
const lease = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"leader","namespace":"default"},` +
	`"spec":{"holderIdentity":"a"}}`

// notLocked makes the writes that a cluster needs while the guard does not answer.
func (t *trial) notLocked(ctx context.Context, c *cluster) error {
	file, err := t.write("lease.json", lease)
	if err != nil {
		return err
	}
	data := []string{"--type=merge", "-p", `{"data":{"a":"b"}}`}
	for _, line := range []string{
		"create configmap free", "delete configmap free", // only updates are guarded
		"create configmap free -n kube-system --from-literal=a=c",
		"create configmap free -n holdfast-guard --from-literal=a=c",
		"create -f " + file,
		"patch lease leader --type=merge -p {\"spec\":{\"holderIdentity\":\"b\"}}",
		"delete -f " + file,
		"label namespace default a=b --overwrite",
		"label crd ships.example.com a=b --overwrite",
		"label immutabilitypolicy system a=b --overwrite",
		"label validatingwebhookconfiguration holdfast-guard a=b --overwrite",
		"label clusterrole examples-reader a=b --overwrite",
	} {
		if err := t.must(ctx, c, t.Kubectl, strings.Fields(line)...); err != nil {
			return err
		}
	}
	for _, namespace := range []string{"kube-system", "holdfast-guard"} {
		for _, args := range [][]string{
			append([]string{"patch", "configmap", "free", "-n", namespace}, data...),
			{"delete", "configmap", "free", "-n", namespace},
		} {
			if err := t.must(ctx, c, t.Kubectl, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// ignoreFailures checks the way out for an administrator whose guard does not answer: without a guard, the failure policy can be
// set to Ignore. A guard that is back sets it to Fail again. At the end the guard is uninstalled.
func (t *trial) ignoreFailures(ctx context.Context, g *guards) error {
	c := g.cluster
	g.kill(len(g.running))
	if err := t.locked(ctx, c); err != nil {
		return err
	}
	ignore := []string{
		"patch", "validatingwebhookconfiguration", "holdfast-guard", "-p",
		`{"webhooks":[{"name":"immutable.guard.holdfast.dev","failurePolicy":"Ignore"}]}`,
	}
	if err := t.must(ctx, c, t.Kubectl, ignore...); err != nil {
		return err
	}
	grow := []string{"patch", "ship", "probe", "--type=merge", "-p", `{"spec":{"size":"large"}}`}
	accepted := func(o outcome) bool { return o.accepted }
	if err := t.await(ctx, c, accepted, grow...); err != nil {
		return err
	}
	t.printf("with the failure policy Ignore, guarded objects can be updated without a guard")
	if err := g.start(); err != nil {
		return err
	}
	shrink := []string{"patch", "ship", "probe", "--type=merge", "-p", `{"spec":{"size":"small"}}`, "--dry-run=server"}
	if err := t.await(ctx, c, isRefusal, shrink...); err != nil {
		return err
	}
	fails := func(o outcome) bool { return o.text == "Fail" }
	if err := t.await(ctx, c, fails, "get", "validatingwebhookconfiguration", "holdfast-guard", "-o",
		`jsonpath={.webhooks[?(@.name=="immutable.guard.holdfast.dev")].failurePolicy}`); err != nil {
		return err
	}
	t.printf("the guard is back, and the failure policy is Fail again")
	if err := t.must(ctx, c, t.Holdfast, "guard", "uninstall"); err != nil {
		return err
	}
	shrink = shrink[:len(shrink)-1]
	if err := t.await(ctx, c, accepted, shrink...); err != nil {
		return err
	}
	t.printf("uninstalled: the field can be changed")
	return nil
}
