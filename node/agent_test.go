package node_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/node"
)

// modes are the ways to follow objects.
var modes = map[string]node.Config{
	"one watch for all":     {Name: "n1"},
	"a watch for each":      {Name: "n1", WatchEach: true},
	"immutable watched too": {Name: "n1", WatchImmutable: true},
}

func TestVolumesFollowObjects(t *testing.T) {
	for name, config := range modes {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t)
			c.apply(t, `{kind: ConfigMap, metadata: {name: app}, data: {app.conf: one}}
---
{kind: Secret, metadata: {name: key}, stringData: {password: hunter2}}`)
			a := c.startAgent(t, config)
			c.apply(t, pod("web", "n1", `[{name: conf, configMap: {name: app}}, {name: key, secret: {secretName: key}}]`))
			a.sees(c, t, "web", "conf/app.conf", "one")
			a.sees(c, t, "web", "key/password", "hunter2")
			c.condition(t, "web", "True", "")

			app, err := c.admin.CoreV1().ConfigMaps(c.namespace).Get(t.Context(), "app", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			app.Data["app.conf"] = "two"
			if _, err := c.admin.CoreV1().ConfigMaps(c.namespace).Update(t.Context(), app, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			a.sees(c, t, "web", "conf/app.conf", "two")
		})
	}
}
