package kudo

import (
	"context"
	"io"

	"holdfast.dev/holdfast/api"
	"holdfast.dev/holdfast/internal/operator/pack"
	"holdfast.dev/holdfast/parameters"
)

// previewInstall prints what an installation would do, and lets the server try its writes with --dry-run=server.
func (d *dryRun) previewInstall(ctx context.Context, s *server, n *newInstance, out io.Writer) error {
	p := &preview{
		Instance: n.instance.Name, To: n.version.Name, Plan: n.decision.Plan, Refusals: []string{},
		Parameters: previewedValues(n.decision), Resources: []resourceDifference{},
	}
	after := &judgement{before: n.instance, after: n.instance, decision: n.decision}
	if err := p.compare(ctx, after, [2]*api.OperatorVersion{nil, n.version}); err != nil {
		return err
	}
	if err := d.print(out, p); err != nil {
		return err
	}
	tried := &server{Interface: s.Interface, namespace: s.namespace, dryRun: d.DryRun}
	if _, err := tried.upload(ctx, n.packages); err != nil {
		return err
	}
	stored, err := s.version(ctx, n.version.Name)
	if err != nil || stored == nil {
		return err
	}
	return tried.create(ctx, instances, n.instance.DeepCopy())
}

// newInstance is an Instance to create, of a version, with the packages that the server must have for it.
type newInstance struct {
	instance *api.Instance
	version  *api.OperatorVersion
	packages []*pack.Package
	decision parameters.Decision
}
