package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// series rolls the configuration of a Deployment over. The ReplicaSet of the last revision still refers to the version before, so that this one
// stays, and a rollout can be undone. The server deletes the versions before that. It needs two minutes for that, one to mark them and
// one to delete them.
func (c *Cluster) series(ctx context.Context) (string, error) {
	settings := `{"metadata":{"labels":{"holdfast.dev/collect":"unused"},` +
		`"annotations":{"holdfast.dev/collect-after":"1m","holdfast.dev/keep-last":"1"}}}`
	if err := c.merge(ctx, "/api/v1/namespaces/"+namespace, settings); err != nil {
		return "", err
	}
	manifest := workload("Deployment", "rolled", "  replicas: 2\n  revisionHistoryLimit: 1") +
		"\n      volumes: [{name: conf, configMap: {name: conf}}]\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {version: \"0\"}\n"
	if err := c.create(ctx, manifest); err != nil {
		return "", err
	}
	const rolls = 4
	var members []string
	for i := range rolls {
		err := c.command(ctx, "", "series", "roll", "conf", fmt.Sprintf("--from-literal=version=%d", i+1), "--in", "deployment/rolled", "--wait")
		if err != nil {
			return "", err
		}
		d, err := c.get(ctx, path("apps/v1/deployments/rolled"))
		if err != nil {
			return "", err
		}
		members = append(members, d.Spec.Template.Spec.Volumes[0].ConfigMap.Name)
	}
	old, kept := members[:rolls-2], members[rolls-2:]
	// The first version is marked two minutes before the last is deleted, so that there are two checks with a time limit each.
	if _, err := c.until(ctx, func(ctx context.Context) (string, error) { return c.marked(ctx, old) }); err != nil {
		return "", err
	}
	gone, err := c.until(ctx, func(ctx context.Context) (string, error) { return c.gone(ctx, old) })
	if err != nil {
		return "", err
	}
	for _, name := range kept {
		if _, err := c.get(ctx, path("v1/configmaps/"+name)); err != nil {
			return "", err
		}
	}
	if err := c.command(ctx, "", "rollout", "undo", "deployment/rolled"); err != nil {
		return "", err
	}
	if err := c.command(ctx, "", "rollout", "status", "deployment/rolled", "--timeout=1m"); err != nil {
		return "", err
	}
	err = c.command(ctx, "", "delete", "deployment/rolled", "--cascade=foreground", "--timeout=1m")
	return fmt.Sprintf("after %d rolls %s, and the rollout was undone to %s", rolls, gone, kept[0]), err
}

// marked is a check that the server will delete ConfigMaps.
func (c *Cluster) marked(ctx context.Context, names []string) (string, error) {
	var missing []string
	for _, name := range names {
		found, err := c.get(ctx, path("v1/configmaps/"+name))
		var refused *side.StatusError
		switch {
		case errors.As(err, &refused) && refused.Code == http.StatusNotFound: // deleted already
		case err != nil:
			return "", err
		case found.Metadata.Annotations["holdfast.dev/unused-since"] == "":
			missing = append(missing, name)
		}
	}
	return expect(len(missing) == 0, "%d of %d old versions are marked", len(names)-len(missing), len(names))
}

// gone is a check that ConfigMaps are deleted.
func (c *Cluster) gone(ctx context.Context, names []string) (string, error) {
	for _, name := range names {
		_, err := c.get(ctx, path("v1/configmaps/"+name))
		var refused *side.StatusError
		if !errors.As(err, &refused) || refused.Code != http.StatusNotFound {
			return "", errors.Join(pending(name+" is not deleted"), err)
		}
	}
	return strings.Join(names, ", ") + " are deleted", nil
}
