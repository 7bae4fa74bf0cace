package guard

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resources holds the flag that excludes resources.
type resources struct{ names []string }

func (r *resources) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&r.names, "exclude-resources", nil, "resources that are not guarded, as kubectl writes them: deployments.apps,configmaps")
}

func (r *resources) parsed() []schema.GroupResource {
	var out []schema.GroupResource
	for _, name := range r.names {
		out = append(out, schema.ParseGroupResource(name))
	}
	return out
}
