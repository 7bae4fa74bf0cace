package node_test

import (
	"testing"

	"holdfast.dev/holdfast/internal/node"
)

// modes are the ways in which an agent can watch objects.
var modes = map[string]node.Config{
	"one watch for all":     {Name: "n1"},
	"a watch for each":      {Name: "n1", WatchEach: true},
	"immutable watched too": {Name: "n1", WatchImmutable: true},
}

// TestVolumesFollowObjects checks that the files change with the objects.
func TestVolumesFollowObjects(t *testing.T) {
	t.Parallel()
	for name, config := range modes {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, stringData: {password: hunter2}}`)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}, {name: key, secret: {secretName: key}}]`))
			a.waitForFile(c, t, "web", "conf/app.conf", "one")
			a.waitForFile(c, t, "web", "key/password", "hunter2")
			c.waitForCondition(t, "web", "True", "")

			c.setData(t, "app", "two")
			a.waitForFile(c, t, "web", "conf/app.conf", "two")
		})
	}
}
