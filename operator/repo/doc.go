// Package repo finds packages in repositories. A repository is a URL or a folder with an
// index.yaml, in KUDO's format, that lists its packages. A user keeps a list of
// repositories in a file.
//
//	index, err := repo.Load(ctx, http.DefaultClient, "https://example.com/operators")
//	entry, err := index.Find(repo.Query{Name: "kafka"})
//	p, err := entry.Load(ctx, http.DefaultClient)
//
// Downloads are bounded in size. If the index has the digest of a package, the package is
// compared with it before it is decoded.
package repo
