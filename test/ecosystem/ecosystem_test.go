package ecosystem_test

import (
	"path/filepath"
	"testing"

	"holdfast.dev/holdfast/internal/apiserver"
	"holdfast.dev/holdfast/internal/apiserver/servertest"
)

// projects are the projects to install: every definition below crds, and the
// objects of these kinds in the project's samples and in testdata/objects.
var projects = map[string]struct {
	module  string
	crds    []string
	samples []string
	objects string
	// definitions and stored are the expected numbers.
	definitions, stored int
}{
	"gateway-api, standard": {
		module: "sigs.k8s.io/gateway-api", crds: []string{"config/crd/standard"}, samples: []string{"examples/standard"},
		definitions: 10, stored: 92,
	},
	"gateway-api, experimental": {
		module: "sigs.k8s.io/gateway-api", crds: []string{"config/crd/experimental"}, samples: []string{"examples/experimental"},
		definitions: 13, stored: 11,
	},
	"cert-manager": {
		module: "github.com/cert-manager/cert-manager", crds: []string{"deploy/crds"},
		samples: []string{"test/fixtures/cert-manager-resources.yaml"},
		objects: "cert-manager.yaml", definitions: 6, stored: 8,
	},
	"cluster-api": {
		module: "sigs.k8s.io/cluster-api",
		crds: []string{
			"core/config/crd/bases", "bootstrap/kubeadm/config/crd/bases",
			"controlplane/kubeadm/config/crd/bases", "cmd/clusterctl/config/crd/bases",
		},
		objects: "cluster-api.yaml", definitions: 19, stored: 9,
	},
}

func TestEcosystem(t *testing.T) {
	for name, project := range projects {
		t.Run(name, func(t *testing.T) {
			dir := moduleDir(t, project.module)
			client := newClient(t, servertest.Start(t, apiserver.Config{}).Config(t))
			installed := 0
			for _, crds := range project.crds {
				for _, m := range readManifests(t, filepath.Join(dir, crds)) {
					if m.GetKind() == "CustomResourceDefinition" {
						client.install(t, m)
						installed++
					}
				}
			}
			if installed != project.definitions {
				t.Errorf("%d definitions, want %d", installed, project.definitions)
			}
			var objects []manifest
			for _, samples := range project.samples {
				objects = append(objects, readManifests(t, filepath.Join(dir, samples))...)
			}
			if project.objects != "" {
				objects = append(objects, readManifests(t, filepath.Join("testdata/objects", project.objects))...)
			}
			stored := 0
			for _, m := range objects {
				if client.serves(m.GroupVersionKind()) {
					client.store(t, m)
					stored++
				}
			}
			if stored != project.stored {
				t.Errorf("%d objects, want %d", stored, project.stored)
			}
		})
	}
}
