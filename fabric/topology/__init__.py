"""What is cabled to what: nodes, ports, links, the builders of whole fabrics, and drawings of them."""
