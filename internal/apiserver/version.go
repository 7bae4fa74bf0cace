package apiserver

import (
	"runtime"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
)

// KubernetesVersion is the version of the Kubernetes API that the server serves.
const KubernetesVersion = "v1.37.2"

// effectiveVersion is the answer to /version. The library takes its answer from
// variables that the linker sets; unset, they hold a text that clients cannot parse.
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
