package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// featureGates is the value of the flag --feature-gates. It sets the features of Holdfast
// (own) and those of the Kubernetes libraries.
type featureGates struct {
	own, libraries featuregate.MutableFeatureGate
}

// addFeatureGates adds the flag --feature-gates. A name that own does not have is set in the
// feature gate of the libraries.
func addFeatureGates(flags *pflag.FlagSet, own featuregate.MutableFeatureGate) {
	flags.Var(featureGates{own: own, libraries: utilfeature.DefaultMutableFeatureGate}, "feature-gates",
		"features to switch, Name=true or Name=false, comma separated: "+
			strings.Join(known(own), ", ")+", and those of the Kubernetes libraries")
}

// known returns the names of the features with their defaults, for the help of the flag.
func known(gate featuregate.MutableFeatureGate) []string {
	var names []string
	for name, spec := range gate.GetAll() {
		if name != "AllAlpha" && name != "AllBeta" {
			names = append(names, fmt.Sprintf("%s (default %t)", name, spec.Default))
		}
	}
	slices.Sort(names)
	return names
}

// String implements pflag.Value.
func (featureGates) String() string { return "" }

// Type implements pflag.Value.
func (featureGates) Type() string { return "mapStringBool" }

// Set implements pflag.Value.
func (g featureGates) Set(value string) error {
	own, libraries := map[string]bool{}, map[string]bool{}
	for _, pair := range strings.Split(value, ",") {
		name, text, found := strings.Cut(strings.TrimSpace(pair), "=")
		switch {
		case name == "" && !found:
			continue
		case !found:
			return fmt.Errorf("missing bool value for %s", name)
		}
		on, err := strconv.ParseBool(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("invalid value of %s=%s, err: %w", name, text, err)
		}
		name = strings.TrimSpace(name)
		if _, ours := g.own.GetAll()[featuregate.Feature(name)]; ours {
			own[name] = on
		}
		// AllAlpha and AllBeta are set in both.
		if _, ours := own[name]; !ours || strings.HasPrefix(name, "All") {
			libraries[name] = on
		}
	}
	if err := g.libraries.SetFromMap(libraries); err != nil {
		return err
	}
	return g.own.SetFromMap(own)
}
