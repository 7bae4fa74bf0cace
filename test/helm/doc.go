// Package helm has Helm, as a library, install, upgrade, roll back and
// uninstall the chart in testdata/shop, which has more than ten kinds, with
// client-side and with server-side apply.
//
// No pods are run, so nothing waits for them to be ready.
package helm
