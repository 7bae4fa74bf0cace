package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/bench/side"
)

// TryOracle checks on a server without components that the oracle of Model finds a wrong deletion.
func TryOracle(ctx context.Context, server *side.Server, settings Settings) error {
	c, err := Start(ctx, server, settings)
	if err != nil {
		return err
	}
	defer c.Stop()
	return c.tryOracle(ctx)
}

// tryOracle deletes ConfigMaps as a client, some of which are in use, and checks what the oracle says: of a deletion that it sees, and of one
// that it finds out later, when the references are gone. It also creates the definition of the custom resource of Model.
func (c *Cluster) tryOracle(ctx context.Context) error {
	if err := c.defineBoats(ctx); err != nil {
		return err
	}
	watched := c.observe(ctx)
	manifest := ""
	for _, name := range []string{"template", "resource", "later", "free"} {
		manifest += "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: planted-" + name + "}\n---\n"
	}
	boat := func(name string) string {
		return "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: " + name + "}\nspec: {conf: planted-" + name + "}\n---\n"
	}
	manifest += workload("Deployment", "planted", "  replicas: 0") + "\n      volumes: [{name: conf, configMap: {name: planted-template}}]\n---\n" +
		boat("resource") + boat("later")
	if err := c.create(ctx, manifest); err != nil {
		return err
	}
	before, err := c.revision(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"template", "resource", "later", "free"} {
		if err := c.command(ctx, "", "delete", "configmap", "planted-"+name); err != nil {
			return err
		}
	}
	// This reference is younger than the deletion, and so is the end of the others.
	if err := c.create(ctx, boat("free")); err != nil {
		return err
	}
	if err := c.command(ctx, "", "delete", "deployment/planted", "boat/resource", "boat/later"); err != nil {
		return err
	}
	after, err := c.revision(ctx)
	if err != nil {
		return err
	}
	_, err = c.until(ctx, func(context.Context) (string, error) {
		watched.mu.Lock()
		defer watched.mu.Unlock()
		return expect(watched.deleted >= 4, "%d of 4 deletions are checked", watched.deleted)
	})
	if err != nil {
		return err
	}
	watched.stop()
	late := &oracle{Cluster: c}
	late.missing(ctx, targets[0], "planted-later", before, after)
	late.missing(ctx, targets[0], "planted-free", before, after)
	err = errors.Join(
		named(watched.wrong, "planted-template was deleted at revision", "planted-resource was deleted at revision", "planted-later was deleted at revision"),
		named(late.wrong, "planted-later was deleted at revision"),
	)
	return errors.Join(err, c.command(ctx, "", "delete", "boat/free"))
}

// revision returns the current revision of the storage.
func (c *Cluster) revision(ctx context.Context) (string, error) {
	_, revision, err := c.read(ctx, path(targets[0]))
	return revision, err
}

// named returns an error if a text is in no message, or if a message has none of the texts. Several objects may have referred to one.
func named(messages []string, texts ...string) error {
	all := strings.Join(messages, "\n")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			return fmt.Errorf("the oracle does not say that %s:\n%s", text, all)
		}
	}
	for _, message := range messages {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(message, text) }) {
			return fmt.Errorf("the oracle says: %s", message)
		}
	}
	return nil
}
