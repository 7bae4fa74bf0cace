// Package repo finds packages in repositories. A repository is a URL or a folder with an
// index.yaml, in KUDO's format, that lists its packages. A user keeps a list of
// repositories in a file.
//
//	client := repo.Client{}
//	index, err := client.Index(ctx, "https://example.com/operators")
//	entry, err := index.Find(repo.Query{Name: "kafka"})
//	p, err := client.Package(ctx, entry)
//
// Downloads are bounded in size. A package is compared with its digest in the index before it
// is decoded; a package without a digest is refused, unless the caller accepts it. An index or a
// package that comes over https never leads to http.
package repo
