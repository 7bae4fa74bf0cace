// Package cacheaudit compares the caches of a running server with what they are computed from, and drops a cache that differs.
//
//	auditor := cacheaudit.New(cacheaudit.Config{Interval: 5 * time.Minute, Caches: all})
//	auditor.Run(ctx)
//
// Its words: an audit compares all caches once. An entry of a cache is the same as the one that the cache computes anew, or differs, or is
// skipped, because what it was computed from is gone. The comparison of a [Cache] is in the package of the cache.
//
// An audit works a tenth of the time, see [Pass.Rest]. It neither stops requests nor makes the server unready: a cache that was dropped
// computes its entries again.
package cacheaudit
