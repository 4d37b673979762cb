module fedhub.local/e2e/tools/chainsaw

go 1.25.0
