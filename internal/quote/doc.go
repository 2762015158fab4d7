// Package quote puts data of others into errors, but no secrets.
package quote
