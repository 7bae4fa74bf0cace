package apiserver

import (
	"runtime"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
)

// KubernetesVersion is the level of the API that is served.
const KubernetesVersion = "v1.37.2"

// effectiveVersion answers /version. The library's own answer comes from
// variables that only a linker sets and that clients cannot parse otherwise.
type effectiveVersion struct {
	basecompatibility.EffectiveVersion
}

func newEffectiveVersion() effectiveVersion {
	return effectiveVersion{compatibility.DefaultBuildEffectiveVersion()}
}

// Info implements compatibility.EffectiveVersion.
func (v effectiveVersion) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	info.GitVersion = KubernetesVersion + "+holdfast"
	info.GitCommit, info.GitTreeState = "", ""
	info.BuildDate = ""
	info.GoVersion, info.Compiler = runtime.Version(), runtime.Compiler
	info.Platform = runtime.GOOS + "/" + runtime.GOARCH
	return info
}
