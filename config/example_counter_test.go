package config_test

import (
	"context"
	"fmt"
	"log"

	"github.com/zkcoord/zkcoord/config"
)

func ExampleCounter() {
	ctx := context.Background()
	c, stop := connect(ctx)
	defer stop()

	orders := config.NewCounter(c, "/shop/orders")
	for range 3 {
		number, err := orders.Add(ctx, 1) // nobody else is given this number
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("order", number)
	}
	total, err := orders.Get(ctx)
	fmt.Println(total, err)
	// Output:
	// order 1
	// order 2
	// order 3
	// 3 <nil>
}
