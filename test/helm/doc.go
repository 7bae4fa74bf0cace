// Package helm uses Helm as a library. It installs, upgrades, rolls back and
// uninstalls the chart in testdata/shop, which has more than ten kinds, with
// client-side and with server-side apply.
//
// It also upgrades a release with a refused change.
//
// No node runs the pods, so no test waits until they are ready.
package helm
